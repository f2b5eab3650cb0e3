# Read by the `run` of the clients in Go: a Go that is new enough, from here, from Debian, or, where these are too old,
# the toolchain as the module that Go itself would fetch.
GO_WANTED=1.26.8

go_is_new_enough() {
    command -v go >/dev/null &&
        printf '%s\n' "${GO_WANTED%.*}" "$(go env GOVERSION | sed 's/^go//')" | sort --version-sort --check=quiet
}

find_go() {
    local toolchain="golang.org/toolchain@v0.0.1-go$GO_WANTED.linux-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')"
    if ! command -v go >/dev/null; then
        local sudo
        sudo=$([ "$(id -u)" -eq 0 ] || echo sudo)
        $sudo apt-get update -qq
        $sudo apt-get install -qq -y --no-install-recommends golang-go ca-certificates >&2
    fi
    go_is_new_enough && return
    export PATH="$COMPAT_CACHE/go/bin:$PATH"
    go_is_new_enough && return
    mkdir -p "$COMPAT_CACHE/toolchain"
    echo 'module toolchain' >"$COMPAT_CACHE/toolchain/go.mod"
    (cd "$COMPAT_CACHE/toolchain" && go mod download "$toolchain") || true
    local fetched
    fetched="$(go env GOPATH)/pkg/mod/$toolchain"
    if [ -d "$fetched" ]; then
        cp -r "$fetched" "$COMPAT_CACHE/go"
        # Modules have no executable files.
        chmod -R u+w "$COMPAT_CACHE/go"
        chmod -R +x "$COMPAT_CACHE/go/bin" "$COMPAT_CACHE/go/pkg/tool"
    fi
    go_is_new_enough && return
    echo "$(go version) is too old, and $toolchain could not be fetched: put Go ${GO_WANTED%.*} or newer on PATH." >&2
    exit 1
}
