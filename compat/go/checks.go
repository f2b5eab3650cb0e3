// Package checks is for the programs in Go: checks that say TAP.
package checks

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	patience = 20 * time.Second
	limit    = 60 * time.Second
	// Groups wait for their members more than they work, so that several checks go at once.
	atOnce = 4
)

type check struct {
	name string
	run  func()
	slow bool
}

// Cannot is what a check panics with where the client has nothing for it.
type Cannot string

var (
	all   []check
	names atomic.Int32
)

// Check takes a name of the form `feature: what`, and a function that panics where it is not so.
func Check(name string, run func()) { all = append(all, check{name, run, false}) }

// Slow is left out of the quick part.
func Slow(name string, run func()) { all = append(all, check{name, run, true}) }

// Bootstrap is the address of the broker.
func Bootstrap() string { return os.Args[1] }

// Unique makes a name that no other check has.
func Unique(word string) string {
	return fmt.Sprintf("%s-%d-%d", word, os.Getpid(), names.Add(1))
}

// Must panics with an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Got is the value, or panics with the error that came instead.
func Got[T any](value T, err error) T {
	Must(err)
	return value
}

// Equal panics unless both are the same through and through.
func Equal[T any](found, wanted T) {
	if !reflect.DeepEqual(found, wanted) {
		panic(fmt.Errorf("%+v is not %+v", found, wanted))
	}
}

// Refused panics unless the error is the one that was to come.
func Refused(err, wanted error) {
	if !errors.Is(err, wanted) {
		panic(fmt.Errorf("%v is not %v", err, wanted))
	}
}

// True panics with what is not so.
func True(so bool, what string, about ...any) {
	if !so {
		panic(fmt.Errorf("not so: "+what, about...))
	}
}

// Until waits for a condition.
func Until(what string, condition func() bool) {
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(20 * time.Millisecond) {
		True(time.Now().Before(deadline), "waited for %s", what)
	}
}

// Main runs all checks and does not return; 1 if one failed.
func Main() {
	quick := slices.Contains(os.Args, "--quick")
	fmt.Printf("1..%d\n", len(all))
	var (
		failed  atomic.Bool
		running sync.WaitGroup
		places  = make(chan struct{}, atOnce)
	)
	for _, each := range all {
		if quick && each.slow {
			fmt.Printf("ok - %s # SKIP not in the quick part\n", each.name)
			continue
		}
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			began := time.Now()
			switch reason := outcome(each.run).(type) {
			case nil:
				fmt.Printf("ok - %s\n", each.name)
			case Cannot:
				fmt.Printf("ok - %s # SKIP %s\n", each.name, reason)
			default:
				failed.Store(true)
				why := strings.Join(strings.Fields(fmt.Sprint(reason)), " ")
				fmt.Printf("not ok - %s # %s\n", each.name, why[:min(len(why), 400)])
			}
			fmt.Printf("    %.1f s: %s\n", time.Since(began).Seconds(), each.name)
		})
	}
	running.Wait()
	if failed.Load() {
		os.Exit(1)
	}
	os.Exit(0)
}

// outcome is nil, or what the check panicked with. One that hangs is left behind.
func outcome(run func()) any {
	ended := make(chan any, 1)
	go func() {
		defer func() {
			reason := recover()
			if _, cannot := reason.(Cannot); reason != nil && !cannot {
				fmt.Fprintf(os.Stderr, "%v\n%s\n", reason, debug.Stack())
			}
			ended <- reason
		}()
		run()
	}()
	select {
	case reason := <-ended:
		return reason
	case <-time.After(limit):
		return fmt.Errorf("it was not done after %v", limit)
	}
}
