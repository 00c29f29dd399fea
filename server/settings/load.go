package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Loader resolves settings after a command line was parsed.
type Loader struct {
	settings *Settings
	flags    *pflag.FlagSet
}

// Register declares every setting as a flag of the set.
func Register(flags *pflag.FlagSet) *Loader {
	l := &Loader{settings: Defaults(), flags: flags}
	l.settings.each(func(f setting) {
		usage := f.usage + " (" + f.env + ")"
		switch p := f.value.Addr().Interface().(type) {
		case *string:
			flags.StringVar(p, f.name, *p, usage)
		case *bool:
			flags.BoolVar(p, f.name, *p, usage)
		case *int:
			flags.IntVar(p, f.name, *p, usage)
		case *time.Duration:
			flags.DurationVar(p, f.name, *p, usage)
		case *[]string:
			flags.StringSliceVar(p, f.name, *p, usage)
		}
		if f.secret {
			flags.String(f.name+fileSuffix, "", "file that holds --"+f.name+" ("+f.env+"_FILE)")
		}
	})
	registerRenamed(flags)
	return l
}

// Load adds the environment and the file to the parsed flags and checks the result. All faults are reported together.
func (l *Loader) Load() (*Settings, error) {
	file, err := l.file()
	if err != nil {
		return nil, err
	}
	var faults []error
	l.settings.each(func(f setting) {
		given, err := l.lookup(f, file)
		switch {
		case err != nil || given.place == nowhere:
		case given.place != onCommandLine:
			if err = f.set(given.text); err != nil {
				err = fmt.Errorf("%s: %w", given.from, err)
			}
		case f.value.Kind() == reflect.Slice: // the flag is parsed, but has kept blanks and empty parts, which other places do without
			err = f.set(strings.Join(f.value.Interface().([]string), ","))
		}
		if err == nil && f.secret {
			err = l.readSecret(f, file, given.place)
		}
		if err == nil { // what cannot be read has left a 0, which nobody gave
			err = f.checkNumber()
		}
		if err != nil {
			faults = append(faults, err)
		}
		delete(file, f.name)
		if f.secret {
			delete(file, f.name+fileSuffix)
		}
		if v, isText := f.value.Interface().(string); isText && len(f.choices) > 0 && !slices.Contains(f.choices, v) {
			faults = append(faults, fmt.Errorf("%s must be one of %s, not %q", f.name, strings.Join(f.choices, ", "), v))
		}
	})
	faults = append(faults, l.refuseRenamed(file)...)
	for k := range file {
		faults = append(faults, fmt.Errorf("%s: unknown setting %q", l.settings.Config, k))
	}
	return l.settings, errors.Join(faults...)
}

// place is where a setting was given; a later one beats those before.
type place int

const (
	nowhere place = iota
	inFile
	inEnvironment
	onCommandLine
)

// given is the text of a setting, where it stands, and what to call that in an error.
type given struct {
	text, from string
	place      place
}

// lookup finds what was given for a setting.
func (l *Loader) lookup(f setting, file map[string]yaml.Node) (given, error) {
	if l.flags.Changed(f.name) {
		return given{l.flags.Lookup(f.name).Value.String(), "--" + f.name, onCommandLine}, nil
	}
	if text, ok := os.LookupEnv(f.env); ok {
		return given{text, f.env, inEnvironment}, nil
	}
	n, ok := file[f.name]
	if !ok || n.ShortTag() == "!!null" { // a key without a value says nothing
		return given{}, nil
	}
	from := l.settings.Config + ": " + f.name
	text, err := f.text(&n)
	if err != nil {
		return given{}, fmt.Errorf("%s: %w", from, err)
	}
	return given{text, from, inFile}, nil
}

// text is what the file says. Texts are as they are written: a password of digits is no number. A template that nobody has filled in,
// {{ password }}, is a map to YAML: it must not become a password that everybody can guess.
func (f setting) text(n *yaml.Node) (string, error) {
	switch kind := f.value.Kind(); {
	case n.Kind == yaml.AliasNode:
		return f.text(n.Alias)
	case n.Kind == yaml.SequenceNode && kind == reflect.Slice:
		parts := make([]string, len(n.Content))
		for i, e := range n.Content {
			text, err := setting{}.text(e)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("neither a list nor a map fits here; a text that begins with [ or { needs quotes")
	case kind != reflect.Bool && kind != reflect.Int && kind != reflect.Int64:
		return n.Value, nil
	}
	var v any
	_ = n.Decode(&v) // what cannot be decoded is nothing that a setting could be
	return fmt.Sprint(v), nil
}

// fileSuffix makes the name of the setting that names the file of a secret.
const fileSuffix = "-file"

// readSecret takes a secret from the file that is named for it, without the line break at its end, unless the secret itself stands in a place
// that beats that. Errors never show what is in it.
func (l *Loader) readSecret(f setting, file map[string]yaml.Node, itself place) error {
	name := f.name + fileSuffix
	named, err := l.lookup(setting{name: name, env: f.env + "_FILE"}, file)
	path, from := named.text, named.from
	switch {
	case err != nil:
		return err
	case path == "" || named.place < itself:
		return nil
	case named.place == itself && f.value.String() != "":
		return fmt.Errorf("%s and %s are both given: use one", f.name, name)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	text := strings.TrimRight(string(raw), "\r\n")
	if text == "" {
		return fmt.Errorf("%s: %s is empty", from, path)
	}
	return f.set(text)
}

// SecretFlags are the flags whose values nobody else should see.
func SecretFlags() []string {
	var names []string
	Defaults().each(func(f setting) {
		if f.secret {
			names = append(names, f.name)
		}
	})
	return names
}

// file reads the configuration file, if one is named.
func (l *Loader) file() (map[string]yaml.Node, error) {
	if env, ok := os.LookupEnv("FLAGRAFT_CONFIG"); ok && !l.flags.Changed("config") {
		l.settings.Config = env
	}
	if l.settings.Config == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(l.settings.Config)
	if err != nil {
		return nil, fmt.Errorf("configuration file: %w", err)
	}
	out := map[string]yaml.Node{}
	documents := yaml.NewDecoder(bytes.NewReader(raw))
	if err := documents.Decode(&out); err != nil && !errors.Is(err, io.EOF) { // a file may be empty
		return nil, fmt.Errorf("configuration file %s: %w", l.settings.Config, err)
	}
	var more any
	if err := documents.Decode(&more); more != nil || err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("configuration file %s: what follows a line --- would count for nothing: put all settings into one document", l.settings.Config)
	}
	if _, nested := out["config"]; nested {
		return nil, fmt.Errorf("configuration file %s: config: a file cannot name another one, which would not be read", l.settings.Config)
	}
	return out, nil
}

// Defaults are the settings of a node that is told nothing.
func Defaults() *Settings {
	s := &Settings{}
	s.each(func(f setting) {
		if f.def != "" {
			if err := f.set(f.def); err != nil {
				panic("settings: default of " + f.name + ": " + err.Error()) // a wrong tag
			}
		}
	})
	return s
}

// setting is one member of Settings.
type setting struct {
	name, env, usage, def string
	choices               []string
	secret                bool
	noZero                bool // 0 would keep or serve nothing at all, or be another number
	value                 reflect.Value
}

func (s *Settings) each(visit func(setting)) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		f := setting{name: tag.Get("flag"), usage: tag.Get("usage"), def: tag.Get("default"), secret: tag.Get("secret") == "true", noZero: tag.Get("zero") == "no", value: v.Field(i)}
		f.env = "FLAGRAFT_" + strings.ToUpper(strings.ReplaceAll(f.name, "-", "_"))
		if c := tag.Get("choice"); c != "" {
			f.choices = strings.Split(c, "|")
		}
		visit(f)
	}
}

func (f setting) set(text string) (err error) {
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		*p = text
	case *bool:
		*p, err = strconv.ParseBool(text)
	case *int:
		*p, err = strconv.Atoi(text)
	case *time.Duration:
		*p, err = time.ParseDuration(text)
	case *[]string:
		*p = nil
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
	}
	return err
}

// checkNumber refuses numbers and times below 0, which nothing here can be, and 0 where it is a trap: elsewhere 0 is "no limit", but an
// age of 0 would have a log emptied, a bound of 0 every request refused, and a size of the log would quietly be the default.
func (f setting) checkNumber() error {
	switch {
	case !f.value.CanInt():
		return nil
	case f.noZero && f.value.Int() <= 0:
		return fmt.Errorf("%s must be above 0, not %v", f.name, f.value.Interface())
	case f.value.Int() < 0:
		return fmt.Errorf("%s must not be below 0, as %v is", f.name, f.value.Interface())
	}
	return nil
}

// Attributes lists the settings for the log, secrets left out.
func (s *Settings) Attributes() []any {
	var out []any
	s.each(func(f setting) {
		if f.secret || f.value.IsZero() {
			return
		}
		out = append(out, f.name, f.value.Interface())
	})
	return out
}
