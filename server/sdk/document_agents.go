package sdk

import (
	"bytes"

	"github.com/valyala/fasthttp"
)

// Pages says who gets the environment document in pages when its identity
// overrides pass 1 MB.
type Pages uint8

// The settings of --document-pages.
const (
	PagesAuto   Pages = iota // everybody but clients known not to follow a Link
	PagesAlways              // everybody
	PagesNever               // nobody
)

// wholeDocument are the beginnings of the User-Agents of clients known not to
// follow a Link to the next page: they would silently lose identity overrides.
var wholeDocument = [][]byte{
	[]byte("flagsmith-python-sdk/"), []byte("flagsmith-java-sdk/"), []byte("flagsmith-kotlin"), []byte("flagsmith-rust-sdk/"),
	[]byte("flagsmith-ruby-sdk/"), []byte("flagsmith-php-sdk/"), []byte("flagsmith-dotnet-sdk/"), []byte("flagsmith-elixir-sdk/"),
	[]byte("flagsmith-js-sdk/"), []byte("flagsmith-edge-proxy/"),
	[]byte("flagsmith-python-client/"), // as the Python SDK 3.10 calls itself
	[]byte("Python-urllib/"),           // the command line in Python, py-flagsmith-cli
	// The edge-proxy, the JavaScript command line and SDKs of before they said who
	// they are send the name of their HTTP library, or of what runs them: the Node SDK
	// follows a Link since 6.2, and says who it is since then; 4.0 to 6.1 call the
	// runtime's own fetch.
	[]byte("python-httpx/"), []byte("python-requests/"), []byte("node"), []byte("undici"), []byte("Bun/"), []byte("Deno/"), []byte("okhttp/"), []byte("reqwest/"),
	[]byte("Faraday "), []byte("GuzzleHttp/"), []byte("Symfony HttpClient"), []byte("hackney/"), []byte("go-resty/"),
}

// pages reports whether a request is answered in pages. In auto mode one without
// a User-Agent is not: old .NET and Rust SDKs send none.
func (s *SDK) pages(ctx *fasthttp.RequestCtx) bool {
	if s.DocumentPages != PagesAuto {
		return s.DocumentPages == PagesAlways
	}
	agent := ctx.Request.Header.UserAgent()
	for _, begin := range wholeDocument {
		if bytes.HasPrefix(agent, begin) {
			return false
		}
	}
	return len(agent) > 0
}
