package server

import (
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

// acceptable refuses what asks for another representation than JSON (FACTS §1): an Accept header that leaves no room for it is 406, an
// unknown ?format= is 404. A browser's text/html is answered with JSON.
func acceptable(req *route.Request) error {
	if req.Query != "" && !knownFormat(req.Query) {
		return route.NotFoundDetail()
	}
	accept := req.Header("Accept")
	if accept == "" {
		return nil
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "*/*", "application/*", "application/json", "text/html", "text/*":
			return nil
		}
	}
	return route.Detail(406, "Could not satisfy the request Accept header.")
}

func knownFormat(query string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		if f, ok := strings.CutPrefix(pair, "format="); ok {
			return f == "json" || f == "api" || f == ""
		}
	}
	return true
}

// unknownPage is what the reference shows at paths it does not know.
const unknownPage = "\n<!doctype html>\n<html lang=\"en\">\n<head>\n  <title>Not Found</title>\n</head>\n<body>\n" +
	"  <h1>Not Found</h1><p>The requested resource was not found on this server.</p>\n</body>\n</html>\n"

// unknownPath answers 404: a page, as the reference does, or JSON for those who ask for it.
func unknownPath(ctx *fasthttp.RequestCtx) {
	if strings.Contains(string(ctx.Request.Header.Peek("Accept")), "application/json") {
		writeError(ctx, route.NotFoundDetail())
		return
	}
	ctx.SetStatusCode(404)
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.SetBodyString(unknownPage)
}
