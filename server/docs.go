package server

import (
	"bytes"
	"sync"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"github.com/flagraft/flagraft/server/route"
)

const docsPath = "/api/v1/docs/"

// apiDocs is the API description and the page that shows it. Everything is embedded: the page loads nothing from elsewhere.
type apiDocs struct {
	// json and yaml render the description when somebody asks for it first: a quarter of a second for both, which no start has to wait for.
	json, yaml func() []byte
	page       fasthttp.RequestHandler
	kept       sync.Map // by shownAs, the bodies of page
}

// shownAs is what an answer of the page depends on.
type shownAs struct{ path, encoding string }

func newAPIDocs() *apiDocs {
	h := v5emb.NewWithConfig(swgui.Config{
		ShowTopBar: false,
		SettingsUI: map[string]string{"validatorUrl": "null", "persistAuthorization": "true", "docExpansion": `"none"`},
	})("flagraft", "/api/v1/swagger.json", docsPath)
	return &apiDocs{page: fasthttpadaptor.NewFastHTTPHandler(h)}
}

// rows serve the description; describe must have been called before the first request.
func (d *apiDocs) rows() []route.Row {
	row := func(path, id string, f func(*fasthttp.RequestCtx, *route.Match)) route.Row {
		return route.Row{Method: "GET", Path: path, OperationID: id, Tag: tagSystem, Kind: route.Local, Hidden: true, Handler: route.Raw(f, nil, nil)}
	}
	return []route.Row{
		row("/api/v1/swagger.json", "swagger_json", func(ctx *fasthttp.RequestCtx, _ *route.Match) {
			d.send(ctx, "application/vnd.oai.openapi+json", d.json())
		}),
		row("/api/v1/swagger.yaml", "swagger_yaml", func(ctx *fasthttp.RequestCtx, _ *route.Match) {
			d.send(ctx, "application/vnd.oai.openapi; charset=utf-8", d.yaml())
		}),
		row(docsPath, "docs", d.show),
		row(docsPath+"{asset}", "docs_asset", d.show),
	}
}

func (d *apiDocs) send(ctx *fasthttp.RequestCtx, contentType string, body []byte) {
	ctx.SetContentType(contentType)
	ctx.Response.SetBodyRaw(body)
}

// show serves the page and its assets; a policy keeps the browser from loading anything else.
func (d *apiDocs) show(ctx *fasthttp.RequestCtx, _ *route.Match) {
	ctx.Response.Header.Set("Content-Security-Policy",
		"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:")
	d.page(ctx)
	d.share(ctx)
}

// share has answers with the same body share its memory. Megabytes for each client that reads slowly, and needs no
// credentials, would take a small node's memory.
func (d *apiDocs) share(ctx *fasthttp.RequestCtx) {
	body := ctx.Response.Body()
	if ctx.Response.StatusCode() != fasthttp.StatusOK || len(body) == 0 { // what there is is little: other paths are not kept
		return
	}
	as := shownAs{string(ctx.Path()), string(ctx.Response.Header.ContentEncoding())}
	kept, ok := d.kept.Load(as)
	if !ok {
		kept, _ = d.kept.LoadOrStore(as, bytes.Clone(body))
	}
	if kept := kept.([]byte); bytes.Equal(kept, body) {
		ctx.Response.SetBodyRaw(kept)
	}
}

// describe makes t what the description is of.
func (d *apiDocs) describe(t *route.Table, version string) {
	d.json = sync.OnceValue(func() []byte {
		return t.OpenAPI(route.APIInfo{
			Title: "flagraft", Version: version,
			Description: "Flagsmith's API, served by a cluster of nodes that need no database. Every path is served with and without its trailing slash.",
		})
	})
	d.yaml = sync.OnceValue(func() []byte {
		doc, err := route.YAML(d.json())
		if err != nil {
			panic(err) // JSON is YAML
		}
		return doc
	})
}
