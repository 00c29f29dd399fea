// Package console serves the web console: the files that package [github.com/flagraft/flagraft/console] embeds, at every path that is no API's.
package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// Console is the console of one node.
type Console struct {
	files map[string]*file
	// taken are the first segments of the API's paths.
	taken map[string]bool
	peers func() []string
	page  atomic.Pointer[policy]
}

// file is a built file, ready to be sent.
type file struct {
	contentType, etag string
	plain, gzipped    []byte // gzipped is nil when it would not be shorter
	forever           bool   // its name changes with its content
}

const index = "index.html"

// New makes the console of the built files. Paths whose first segment is one of those of apiPaths are left alone. peers gives the origins of
// the other nodes, which the page may go on with when this one is lost.
func New(built fs.FS, apiPaths []string, peers func() []string) (*Console, error) {
	c := &Console{files: map[string]*file{}, taken: map[string]bool{}, peers: peers}
	for _, p := range apiPaths {
		c.taken[firstSegment(p)] = true
	}
	err := fs.WalkDir(built, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(built, name)
		if err == nil {
			c.files[name], err = newFile(name, data)
		}
		return err
	})
	if err == nil && c.files[index] == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return c, nil
}

func newFile(name string, data []byte) (*file, error) {
	f := &file{contentType: contentTypes[path.Ext(name)], plain: data, forever: strings.HasPrefix(name, "assets/")}
	sum := sha256.Sum256(data)
	f.etag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if b.Len() < len(data) {
		f.gzipped = b.Bytes()
	}
	return f, nil
}

// contentTypes are those of everything that Vite builds; the system's answers would differ.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
}

func firstSegment(p string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return first
}

// Serve answers a request for a path that no row has, if it is the console's: one of its files, or a page of it that a browser opens.
func (c *Console) Serve(ctx *fasthttp.RequestCtx) bool {
	if !ctx.IsGet() && !ctx.IsHead() {
		return false
	}
	name := strings.TrimPrefix(string(ctx.Path()), "/")
	f := c.files[name]
	switch {
	case name == "" || name == index:
		f = c.files[index]
	case f != nil:
	case c.taken[firstSegment(name)] || !opensPage(ctx):
		return false
	default:
		f = c.files[index]
	}
	c.send(ctx, f)
	return true
}

// opensPage reports a browser that goes to an address: only it asks for HTML by name.
func opensPage(ctx *fasthttp.RequestCtx) bool {
	return bytes.Contains(ctx.Request.Header.Peek("Accept"), []byte("text/html"))
}

// send answers with the file itself: clients that read slowly would each hold a copy.
func (c *Console) send(ctx *fasthttp.RequestCtx, f *file) {
	ctx.Response.Reset()
	h := &ctx.Response.Header
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", c.policy())
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", f.etag)
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if string(ctx.Request.Header.Peek("If-None-Match")) == f.etag {
		ctx.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(f.contentType)
	if f.gzipped != nil && route.AcceptsGzip(ctx.Request.Header.Peek("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		ctx.Response.SetBodyRaw(f.gzipped)
		return
	}
	ctx.Response.SetBodyRaw(f.plain)
}
