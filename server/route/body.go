package route

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxFormMembers bounds the fields and files of one form.
const maxFormMembers = 1000

// ParseBody reads a request body by its content type: JSON, form-urlencoded or multipart. An empty body is an empty object, and a body
// without a content type is taken for JSON. Everything else is 415.
func ParseBody(contentType string, body []byte) (Value, error) {
	if len(body) == 0 {
		return Value{Kind: Object}, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil && media == "" && contentType != "" {
		return Value{}, UnsupportedMedia(contentType)
	}
	switch media {
	case "application/json", "":
		return ParseJSON(body)
	case "application/x-www-form-urlencoded":
		return parseForm(body)
	case "multipart/form-data":
		return parseMultipart(body, params["boundary"])
	}
	return Value{}, UnsupportedMedia(contentType)
}

// parseForm keeps the order of the fields and their repetitions.
func parseForm(body []byte) (Value, error) {
	v := Value{Kind: Object, form: true}
	for pair := range strings.SplitSeq(string(body), "&") {
		if pair == "" {
			continue
		}
		if len(v.Members) == maxFormMembers {
			return Value{}, BadRequest("Too many form fields.")
		}
		name, text, _ := strings.Cut(pair, "=")
		v.Members = append(v.Members, Member{formText(name), Value{Kind: String, Text: formText(text)}})
	}
	return v, nil
}

// formText decodes a form token; what is wrongly escaped stays, wrong UTF-8 becomes U+FFFD.
func formText(s string) string {
	d, err := url.QueryUnescape(s)
	if err != nil {
		d = s
	}
	return strings.ToValidUTF8(d, string(utf8.RuneError))
}

func parseMultipart(body []byte, boundary string) (Value, error) {
	if boundary == "" {
		return Value{}, BadRequest("Multipart form parse error - Invalid boundary in multipart: None")
	}
	v := Value{Kind: Object, form: true}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return v, nil
		}
		if err != nil {
			return Value{}, BadRequest("Multipart form parse error - " + err.Error())
		}
		if len(v.Members) == maxFormMembers {
			return Value{}, BadRequest("Too many form fields.")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return Value{}, BadRequest("Multipart form parse error - " + err.Error())
		}
		e := Value{Kind: String, Text: strings.ToValidUTF8(string(data), string(utf8.RuneError))}
		if part.FileName() != "" {
			e = Value{Kind: Upload, File: &File{Name: part.FileName(), Data: data}}
		}
		v.Members = append(v.Members, Member{part.FormName(), e})
	}
}
