package nodes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Add places one more node on loopback, with further arguments; it joins by way
// of those that are there. It is not started.
func (c *Cluster) Add(args ...string) (*Node, error) {
	var join []string
	for _, n := range c.Nodes {
		join = append(join, n.Cluster)
	}
	return c.Place(append([]string{"--join", strings.Join(join, ",")}, args...)...)
}

// Place is Add for a node that is told nothing but the arguments.
func (c *Cluster) Place(args ...string) (*Node, error) {
	if c.opts.Hosts != nil {
		return nil, errors.New("nodes are added on loopback only")
	}
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	addr := func(k int) string { return fmt.Sprintf("127.0.0.1:%d", ports[k]) }
	node := &Node{API: addr(0), Cluster: addr(1), Management: addr(3), Dir: filepath.Join(c.opts.Dir, "node"+strconv.Itoa(len(c.Nodes))),
		opts: &c.opts, http: c.http}
	node.Log = node.Dir + ".log"
	node.args = slices.Concat([]string{"serve", "--data-dir", node.Dir, "--api-addr", node.API, "--cluster-addr", node.Cluster,
		"--gossip-addr", addr(2), "--management-addr", node.Management,
		"--admin-email", Email, "--admin-password", Password, "--login-per-minute", "0"}, c.opts.Extra, args)
	c.Nodes = append(c.Nodes, node)
	return node, nil
}

// Move gives stopped nodes other cluster and gossip ports. All know all by the new ones.
func Move(nodes ...*Node) error {
	ports, err := freePorts(2 * len(nodes))
	if err != nil {
		return err
	}
	var join []string
	for i, n := range nodes {
		n.Cluster = fmt.Sprintf("127.0.0.1:%d", ports[2*i])
		join = append(join, n.Cluster)
		n.setArg("--cluster-addr", n.Cluster)
		n.setArg("--gossip-addr", fmt.Sprintf("127.0.0.1:%d", ports[2*i+1]))
	}
	for _, n := range nodes {
		n.setArg("--join", strings.Join(join, ","))
	}
	return nil
}

// setArg changes the value of an argument, or adds it.
func (n *Node) setArg(name, value string) {
	if i := slices.Index(n.args, name); i >= 0 {
		n.args[i+1] = value
		return
	}
	n.args = append(n.args, name, value)
}

// Wipe loses the disk of a stopped node.
func (n *Node) Wipe() error { return os.RemoveAll(n.Dir) }
