package settings

import (
	"fmt"
	"reflect"
	"strings"
)

// Markdown is the page docs/settings.md: every setting with its flag, its
// variable, its default and what it is for.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Settings\n\n" +
		"Each setting is a flag of `flagraft serve`, an environment variable, and a key of the YAML file named by `--config` (the flag's name). A flag\n" +
		"beats the variable, which beats the file, which beats the default. Lists are separated by commas. A secret may also be\n" +
		"in a file of its own: `--cluster-secret-file`, `FLAGRAFT_CLUSTER_SECRET_FILE`, and so on for each marked *secret*; a flag, a variable or a key\n" +
		"of either form beats as above, and in one place only one of the two may be given. No number or time is below 0, and 0 is refused where it\n" +
		"would keep or serve nothing. This page is generated: `go run ./cmd/flagraft settings > docs/settings.md`.\n\n" +
		"| flag | variable | default | what |\n|---|---|---|---|\n")
	Defaults().each(func(f setting) {
		def := ""
		if v := fmt.Sprint(f.value.Interface()); f.value.Kind() != reflect.Slice && v != "" && v != "false" {
			def = "`" + v + "`"
		}
		usage := f.usage
		if len(f.choices) > 0 && !strings.Contains(usage, f.choices[0]) {
			usage += " (" + strings.Join(f.choices, ", ") + ")"
		}
		if f.secret {
			usage += " (*secret*)"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", f.name, f.env, def, usage)
	})
	return b.String()
}

// Description is what is known of a setting besides its value.
type Description struct {
	Name, Default, Usage string
	Choices              []string
	Secret               bool
}

// Described lists all settings.
func Described() (list []Description) {
	Defaults().each(func(f setting) {
		list = append(list, Description{Name: f.name, Default: f.def, Usage: f.usage, Choices: f.choices, Secret: f.secret})
	})
	return list
}
