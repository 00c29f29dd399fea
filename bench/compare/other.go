package compare

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	_ "embed" // for the programs
)

//go:embed engine.py
var pythonProgram []byte

//go:embed engine.mjs
var nodeProgram []byte

// other is an engine in a process of its own, which answers each line with a line.
type other struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// Python starts the Python engine that install.sh put into a directory. Its files go
// to dir.
func Python(peers, dir string, c *Contexts) (Engine, error) {
	return start("Python engine, flagsmith-flag-engine", dir, "engine.py", pythonProgram, c, filepath.Join(peers, "python/bin/python"))
}

// Node starts the Node engine that install.sh put into a directory. Its files go to
// dir.
func Node(peers, dir string, c *Contexts) (Engine, error) {
	return start("Node engine, flagsmith-nodejs", dir, "engine.mjs", nodeProgram, c, "node", filepath.Join(peers, "node/node_modules/flagsmith-nodejs"))
}

func start(name, dir, file string, program []byte, c *Contexts, command string, args ...string) (Engine, error) {
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, program, 0o600); err != nil {
		return nil, err
	}
	o := &other{name: name, cmd: exec.Command(command, append([]string{path}, args...)...)}
	o.cmd.Stderr = os.Stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil { // its end tells the process to end
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewReader(out)
	if err := o.cmd.Start(); err != nil {
		return nil, fmt.Errorf("compare: %s: %w", name, err)
	}
	var version string
	if err := o.ask(c, &version); err != nil {
		_ = o.Close() // the first error tells more
		return nil, err
	}
	o.name += " " + version
	return o, nil
}

func (o *other) Name() string { return o.name }

func (o *other) Close() error {
	_ = o.in.Close()
	if err := o.cmd.Wait(); err != nil {
		return fmt.Errorf("compare: %s: %w", o.name, err)
	}
	return nil
}

func (o *other) Results() (out []*Result, err error) {
	var raw []json.RawMessage
	if err := o.ask("results", &raw); err != nil {
		return nil, err
	}
	for _, data := range raw {
		r, err := readResult(data)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (o *other) Run(d time.Duration) (s Speed, err error) {
	err = o.ask(d.Seconds(), &s)
	return s, err
}

// ask writes a line and reads the answer.
func (o *other) ask(question, answer any) error {
	line, err := json.Marshal(question)
	if err == nil {
		_, err = o.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = o.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(bytes.TrimSpace(line), answer)
	}
	if err != nil {
		return fmt.Errorf("compare: %s: %w", o.name, err)
	}
	return nil
}
