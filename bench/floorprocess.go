package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/flagraft/flagraft/bench/floor"
)

// startFloor records a node's answers to the requests and starts a process that
// repeats them.
func (b *bench) startFloor(dir, addr string, requests ...[]byte) (s *side, stop func(), err error) {
	var answers []*floor.Answer
	for _, r := range requests {
		a, err := floor.Capture(addr, r)
		if err != nil {
			return nil, nil, err
		}
		b.say("the floor repeats %s %s: %d bytes of body", a.Method, a.Path, len(a.Body))
		answers = append(answers, a)
	}
	file := filepath.Join(dir, "answers.json")
	if err := floor.Save(file, answers...); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(b.Floor[0], append(b.Floor[1:], file)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // its end tells the floor that nobody needs it any more
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("floor: %w", err)
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a killed process is no error here
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("floor: no address: %w", err)
	}
	return &side{name: "floor", addrs: []string{strings.TrimSpace(line)}, pids: []int{cmd.Process.Pid}}, stop, nil
}

// ServeFloor is the floor's process: it repeats the answers in the file until in
// ends, and prints its address first.
func ServeFloor(file string, in io.Reader, out io.Writer) error {
	answers, err := floor.Load(file)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(0) // whoever started it has gone
	}()
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	return floor.Serve(l, answers)
}
