// Command suite reads `go test -json` and says TAP of each test: go test -json | suite
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct{ Action, Test, Output string }

func main() {
	failed := false
	said := map[string]string{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var each event
		if json.Unmarshal(lines.Bytes(), &each) != nil || each.Test == "" {
			fmt.Println(lines.Text())
			continue
		}
		// A # begins a remark in TAP, and Go numbers tests of the same name with it.
		name := "own suite: " + strings.ReplaceAll(each.Test, "#", "~")
		switch each.Action {
		case "output":
			if line := strings.TrimSpace(each.Output); line != "" && !strings.HasPrefix(line, "---") {
				said[each.Test] = line
			}
			fmt.Print("    ", each.Output)
		case "pass":
			fmt.Printf("ok - %s\n", name)
		case "skip":
			fmt.Printf("ok - %s # SKIP %s\n", name, said[each.Test])
		case "fail":
			failed = true
			fmt.Printf("not ok - %s # %.400s\n", name, said[each.Test])
		}
	}
	if failed {
		os.Exit(1)
	}
}
