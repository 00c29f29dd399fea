package admin

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/flagraft/flagraft/fsm"
)

// concealed stands for a secret. That it changed shows, from what to what does not.
const concealed = "(secret)"

// rowFields lists the fields in which two rows of one type differ; either may be nil. Names are those of the API where the row's are: lower case
// with underscores.
func rowFields(before, after any) []fieldChange {
	out := []fieldChange{}
	some := before
	if some == nil {
		some = after
	}
	if some == nil {
		return out
	}
	old, now := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range reflect.TypeOf(some).NumField() {
		f := reflect.TypeOf(some).Field(i)
		a, b := fieldOf(old, i), fieldOf(now, i)
		if reflect.DeepEqual(a, b) {
			continue
		}
		out = append(out, fieldChange{Field: fieldName(f.Name), Old: shownField(f, a), New: shownField(f, b)})
	}
	return out
}

// fieldOf is a field's value; nil for a row that is not there.
func fieldOf(row reflect.Value, i int) any {
	if !row.IsValid() {
		return nil
	}
	return row.Field(i).Interface()
}

// shownField makes JSON of what a field holds, without what is secret in it.
func shownField(f reflect.StructField, v any) any {
	switch f.Tag.Get("secret") {
	case "":
		return plainField(v)
	case "url":
		return concealPath(v)
	}
	return conceal(v)
}

// concealPath leaves of an address where it leads.
func concealPath(v any) any {
	text, _ := v.(string)
	u, err := url.Parse(text)
	if text == "" || err != nil || u.Host == "" {
		return conceal(v)
	}
	if u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "" {
		return text
	}
	return u.Scheme + "://" + u.Host + "/" + concealed
}

func conceal(v any) any {
	if v == nil || reflect.ValueOf(v).IsZero() {
		return nil
	}
	return concealed
}

// fieldName writes APIKey as api_key and UseV2Versioning as use_v2_versioning.
func fieldName(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		begins := upper && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// plainField makes JSON of whatever a row holds.
func plainField(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case uuid.UUID:
		return v.String()
	case fsm.Time:
		return v
	case fsm.FeatureValue:
		return plainValue(v)
	case []byte:
		var parsed any
		if json.Unmarshal(v, &parsed) != nil {
			return nil
		}
		return parsed
	}
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return plainField(value.Elem().Interface())
	case reflect.Slice, reflect.Array:
		all := make([]any, value.Len())
		for i := range all {
			all[i] = plainField(value.Index(i).Interface())
		}
		return all
	case reflect.Struct:
		all := map[string]any{}
		for i := range value.NumField() {
			f := value.Type().Field(i)
			all[fieldName(f.Name)] = shownField(f, value.Field(i).Interface())
		}
		return all
	}
	return v
}
