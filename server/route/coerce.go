package route

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// The leaf conversions, with the leniency of Django REST framework's fields. Each returns a message, or "".

func itoa(n int) string { return strconv.Itoa(n) }

// leaf converts a value that is neither a list nor an object of ours.
func (f *field) leaf(v Value, dst reflect.Value) string {
	switch f.target.shape {
	case shapeString:
		return f.text(v, dst)
	case shapeInt:
		return f.integer(v, dst)
	case shapeFloat:
		return f.float(v, dst)
	case shapeBool:
		b, msg := boolean(v)
		dst.SetBool(b)
		return msg
	case shapeTime, shapeInstant:
		return f.instant(v, dst)
	case shapeUUID:
		u, err := uuid.Parse(strings.TrimSpace(v.Text))
		if err != nil || v.Kind != String {
			return MsgUUID
		}
		dst.Set(reflect.ValueOf(u))
	case shapeScalar:
		return f.scalar(v, dst)
	case shapeValue:
		dst.Set(reflect.ValueOf(v))
	case shapeFile:
		if v.Kind != Upload {
			return MsgNoFile
		}
		dst.Set(reflect.ValueOf(*v.File))
	case shapeCustom:
		if err := dst.Addr().Interface().(valueReader).FromValue(v); err != nil {
			return err.Error()
		}
	}
	return ""
}

// text is DRF's CharField: strings and numbers, not booleans; trimmed; no NUL, no lone surrogate.
func (f *field) text(v Value, dst reflect.Value) string {
	if len(f.choices) > 0 {
		return f.choice(v, dst)
	}
	var s string
	switch v.Kind {
	case String:
		s = v.Text
	case Int, Float:
		s = PythonStr(v)
	default:
		if f.format == "uuid" {
			return uuidText(PythonStr(v))
		}
		return MsgString
	}
	if !f.notrim {
		s = strings.TrimSpace(s)
	}
	if s == "" && f.format != "uuid" {
		if !f.blank && !f.param {
			return MsgBlank
		}
		dst.SetString(s)
		return ""
	}
	if msg := TextFault(s); msg != "" {
		return msg
	}
	if msg := f.checkText(s, dst); msg != "" {
		return msg
	}
	return ""
}

// TextFault gives the message for text that no text column takes, or "".
func TextFault(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		return MsgNulChar
	}
	if utf8.ValidString(s) {
		return ""
	}
	for i := range len(s) {
		if r, ok := surrogate(s[i:]); ok {
			return fmt.Sprintf("Surrogate characters are not allowed: U+%X.", r)
		}
	}
	return MsgString
}

func (f *field) checkText(s string, dst reflect.Value) string {
	n := int64(utf8.RuneCountInString(s))
	if f.hasMax && n > f.max {
		return MaxLengthText(int(f.max))
	}
	if f.hasMin && n < f.min {
		return "Ensure this field has at least " + strconv.FormatInt(f.min, 10) + " characters."
	}
	s, msg := f.formatted(s)
	dst.SetString(s)
	return msg
}

// formatted checks the format; a uuid comes back in its canonical form.
func (f *field) formatted(s string) (string, string) {
	switch f.format {
	case "email":
		if !ValidEmail(s) {
			return s, MsgEmail
		}
	case "url":
		if !ValidURL(s) {
			return s, MsgURL
		}
	case "slug":
		if strings.Trim(s, slugChars) != "" {
			return s, MsgSlug
		}
	case "uuid":
		u, err := uuid.Parse(s)
		if err != nil {
			return s, uuidText(s)
		}
		return u.String(), ""
	}
	return s, ""
}

const slugChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

func uuidText(s string) string { return "“" + s + "” is not a valid UUID." }

// hostName is a domain with at least one dot, or localhost.
var hostName = regexp.MustCompile(`^(?i:localhost|(?:[\pL\pN](?:[\pL\pN-]{0,61}[\pL\pN])?\.)+[\pL\pN-]{2,63})$`)

// ValidEmail follows Django's validator closely enough: one address, no display name, ASCII before the @, a domain with a dot. Other letters
// there would make accounts of addresses that nobody typed: "İ" in lower case is "i".
func ValidEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || len(s) > 320 || strings.ContainsAny(s, " \t\r\n<>,;()") {
		return false
	}
	if strings.ContainsFunc(s[:at], func(r rune) bool { return r > unicode.MaxASCII }) {
		return false
	}
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s && a.Name != "" {
		return false
	}
	return hostName.MatchString(s[at+1:])
}

// ValidURL accepts absolute http, https, ftp and ftps URLs with a host, as Django's URLField does.
func ValidURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || strings.ContainsAny(s, " \t\r\n") {
		return false
	}
	host := u.Hostname()
	return slices.Contains([]string{"http", "https", "ftp", "ftps"}, strings.ToLower(u.Scheme)) &&
		(hostName.MatchString(host) || strings.Contains(host, ":") || ipv4.MatchString(host))
}

var ipv4 = regexp.MustCompile(`^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$`)

func (f *field) choice(v Value, dst reflect.Value) string {
	s := PythonStr(v)
	if s == "" && f.blank || slices.Contains(f.choices, s) && v.Kind != Bool {
		dst.SetString(s)
		return ""
	}
	return InvalidChoiceText(s)
}

// integer reads what DRF's IntegerField reads: 7, "7", 7.0, "7.00".
func integer(v Value) (*big.Int, string) {
	s := v.Text
	switch v.Kind {
	case Int, String:
		if len(s) > 1000 { // also keeps the conversion cheap
			return nil, "String value too large."
		}
	case Float:
		s = PythonStr(v)
	default:
		return nil, MsgInteger
	}
	s = strings.TrimSpace(s)
	if whole, frac, ok := strings.Cut(s, "."); ok && strings.Trim(frac, "0") == "" {
		s = whole
	}
	n, ok := bigInt(strings.TrimPrefix(s, "+"))
	if !ok {
		return nil, MsgInteger
	}
	return n, ""
}

func (f *field) integer(v Value, dst reflect.Value) string {
	if f.pk && (v.Kind == Bool || v.Kind == List || v.Kind == Object) {
		return "Incorrect type. Expected pk value, received " + v.Kind.python() + "."
	}
	n, msg := integer(v)
	if msg != "" {
		if f.pk {
			return "Incorrect type. Expected pk value, received " + v.Kind.python() + "."
		}
		return msg
	}
	if f.pk && n.Sign() == 0 { // rows say with 0 that they refer to none
		return InvalidPKText(n)
	}
	if msg := f.checkRange(n); msg != "" {
		return msg
	}
	switch {
	case dst.CanInt():
		if !n.IsInt64() || dst.OverflowInt(n.Int64()) {
			return f.overflow(n, math.MaxInt64)
		}
		dst.SetInt(n.Int64())
	default:
		if !n.IsUint64() || dst.OverflowUint(n.Uint64()) {
			return f.overflow(n, math.MaxInt64)
		}
		dst.SetUint(n.Uint64())
	}
	return ""
}

func (f *field) overflow(n *big.Int, limit int64) string {
	switch {
	case f.pk:
		return InvalidPKText(n)
	case n.Sign() < 0:
		return MinValueText(0)
	}
	return MaxValueText(limit)
}

func (f *field) checkRange(n *big.Int) string {
	if f.hasMax && n.Cmp(big.NewInt(f.max)) > 0 {
		return MaxValueText(f.max)
	}
	if f.hasMin && n.Cmp(big.NewInt(f.min)) < 0 {
		return MinValueText(f.min)
	}
	return ""
}

// MaxValueText is the message for a number that is too large.
func MaxValueText(n int64) string {
	return "Ensure this value is less than or equal to " + strconv.FormatInt(n, 10) + "."
}

// MinValueText is the message for a number that is too small.
func MinValueText(n int64) string {
	return "Ensure this value is greater than or equal to " + strconv.FormatInt(n, 10) + "."
}

func (f *field) float(v Value, dst reflect.Value) string {
	var x float64
	switch v.Kind {
	case Bool:
		if v.Text == "true" {
			x = 1
		}
	case Int, Float, String:
		var err error
		x, err = strconv.ParseFloat(strings.TrimSpace(v.Text), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x) || math.IsInf(x, 0) {
			return MsgNumber
		}
	default:
		return MsgNumber
	}
	if f.hasMax && x > float64(f.max) {
		return MaxValueText(f.max)
	}
	if f.hasMin && x < float64(f.min) {
		return MinValueText(f.min)
	}
	dst.SetFloat(x)
	return ""
}

// boolean reads DRF's truth words.
func boolean(v Value) (bool, string) {
	s := v.Text
	switch v.Kind {
	case Bool:
		return s == "true", ""
	case String, Int, Float:
	default:
		return false, MsgBoolean
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "t", "y", "yes", "true", "on", "1", "1.0":
		return true, ""
	case "f", "n", "no", "false", "off", "0", "0.0", "-0", "-0.0":
		return false, ""
	}
	return false, MsgBoolean
}

func (f *field) scalar(v Value, dst reflect.Value) string {
	s := ScalarOf(v)
	if s.v.Kind == Upload {
		return MsgString
	}
	if s.v.Kind == String {
		if f.hasMax && int64(utf8.RuneCountInString(s.v.Text)) > f.max {
			return MaxLengthText(int(f.max))
		}
		if msg := TextFault(s.v.Text); msg != "" {
			return msg
		}
	}
	if s.v.Kind == Float {
		if x, _ := s.Float(); math.IsInf(x, 0) {
			return MsgNumber
		}
	}
	dst.Set(reflect.ValueOf(s))
	return ""
}

// timeLayouts and zoneLayouts are the forms DRF reads, a fraction of a second included; a missing zone is UTC.
var (
	timeLayouts = [...]string{
		"2006-1-2T15:4:5", "2006-1-2T15:4", "20060102T150405", "20060102T1504", "2006-01-02T15", "2006-01-02", "20060102",
	}
	zoneLayouts = [...]string{"Z07:00", "Z0700", "Z07", ""}
)

// ParseTime reads a timestamp as clients send it.
func ParseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	// A blank may stand for the T, and others before the zone: "2026-11-26 20:00:00 +0200".
	if at := strings.IndexByte(s, ' '); at >= len("2006-1-2") && at <= len("2006-01-02") {
		s = s[:at] + "T" + s[at+1:]
	}
	if at := strings.LastIndexAny(s, "Z+-"); at > 0 && s[at-1] == ' ' && strings.Contains(s[:at], "T") { // else it is a dash of the date
		s = strings.TrimRight(s[:at], " ") + s[at:]
	}
	for _, zone := range zoneLayouts {
		for _, l := range timeLayouts {
			if zone != "" && !strings.Contains(l, "T") {
				continue // a date alone has no zone
			}
			if t, err := time.Parse(l+zone, s); err == nil {
				return t.UTC().Truncate(time.Microsecond), true
			}
		}
	}
	return time.Time{}, false
}

func (f *field) instant(v Value, dst reflect.Value) string {
	if v.Kind != String {
		return MsgDateTime
	}
	t, ok := ParseTime(v.Text)
	if !ok {
		return MsgDateTime
	}
	if y := t.Year(); y < 1 || y > 9999 { // its offset carried it over an end, where neither JSON nor clients follow
		return MsgDateRange
	}
	if f.target.shape == shapeInstant {
		setInstant(dst, t)
		return ""
	}
	dst.Set(reflect.ValueOf(t))
	return ""
}

func (f *field) checkLen(n int) string {
	switch {
	case n == 0 && f.nonempty:
		return MsgEmptyList
	case f.hasMin && int64(n) < f.min:
		return "Ensure this field has at least " + strconv.FormatInt(f.min, 10) + " elements."
	case f.hasMax && int64(n) > f.max:
		return "Ensure this field has no more than " + strconv.FormatInt(f.max, 10) + " elements."
	}
	return ""
}
