package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

type dial = func(ctx context.Context, network, host string) (net.Conn, error)

var errCut = errors.New("the wire is cut")

// wires are connections that can be cut all at once, as when a process dies.
type wires struct {
	cut  atomic.Bool
	lock sync.Mutex
	open []net.Conn
}

func (all *wires) dial(ctx context.Context, network, host string) (net.Conn, error) {
	if all.cut.Load() {
		return nil, errCut
	}
	one, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err == nil {
		all.lock.Lock()
		defer all.lock.Unlock()
		all.open = append(all.open, one)
	}
	return one, err
}

func (all *wires) die() {
	all.cut.Store(true)
	all.lock.Lock()
	defer all.lock.Unlock()
	for _, each := range all.open {
		each.Close()
	}
}

// losesFirstAnswer makes connections of which the first that carries a Produce breaks when its answer comes: the batch
// is in the log, and the producer does not know.
func losesFirstAnswer() dial {
	lost := new(atomic.Bool)
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		one, err := (&net.Dialer{}).DialContext(ctx, network, host)
		return &loser{Conn: one, lost: lost}, err
	}
}

type loser struct {
	net.Conn
	lost     *atomic.Bool
	produces atomic.Bool
}

// Write sees whole requests: four bytes of length, then the key, which is 0 for Produce.
func (one *loser) Write(request []byte) (int, error) {
	if len(request) > 6 && request[4] == 0 && request[5] == 0 {
		one.produces.Store(true)
	}
	return one.Conn.Write(request)
}

func (one *loser) Read(into []byte) (int, error) {
	count, err := one.Conn.Read(into)
	if count > 0 && one.produces.Load() && one.lost.CompareAndSwap(false, true) {
		one.Conn.Close()
		return 0, errCut
	}
	return count, err
}
