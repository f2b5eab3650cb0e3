package main

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/IBM/sarama"
)

var errCut = errors.New("the wire is cut")

// wires are connections that can be cut all at once, as when a process dies.
type wires struct {
	cut  atomic.Bool
	lock sync.Mutex
	open []net.Conn
}

func (all *wires) carry(each *sarama.Config) {
	each.Net.Proxy.Enable, each.Net.Proxy.Dialer = true, all
}

func (all *wires) Dial(network, address string) (net.Conn, error) {
	if all.cut.Load() {
		return nil, errCut
	}
	one, err := net.Dial(network, address)
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
