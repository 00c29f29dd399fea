package route

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxPageSize is the page size of every list, and the largest a client may ask for (FACTS §3).
const MaxPageSize = 999

// Page is the envelope of paginated lists.
type Page[T any] struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// SizedPage is the envelope of lists whose page size the client may choose; see [ReadPage].
type SizedPage[T any] Page[T]

// paged is a page; sized tells whether the client may choose how long it is.
type paged interface{ sized() bool }

func (Page[T]) sized() bool      { return false }
func (SizedPage[T]) sized() bool { return true }

// PageSpec is the part of a list that a request asks for.
type PageSpec struct {
	Offset, Limit int

	number, last int
}

// ReadPage reads page and, when sized is set, page_size of a list with total elements. A page that does not exist is 404 "Invalid page.".
func ReadPage(c *Call, total int, sized bool) (PageSpec, error) {
	p := PageSpec{Limit: MaxPageSize}
	q := c.Query()
	if n, err := strconv.Atoi(strings.TrimSpace(q.Get("page_size"))); sized && err == nil && n > 0 {
		p.Limit = min(n, MaxPageSize)
	}
	p.last = max(1, (total+p.Limit-1)/p.Limit)
	p.number = 1
	switch text := q.Get("page"); text {
	case "":
	case "last":
		p.number = p.last
	default:
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > p.last {
			return p, Detail(404, MsgInvalidPage)
		}
		p.number = n
	}
	p.Offset = (p.number - 1) * p.Limit
	return p, nil
}

// Envelope wraps the results of the page.
func Envelope[T any](c *Call, p PageSpec, total int, results []T) Page[T] {
	out := Page[T]{Count: total, Results: results}
	if p.number < p.last {
		out.Next = pageURL(c, p.number+1)
	}
	if p.number > 1 {
		out.Previous = pageURL(c, p.number-1)
	}
	return out
}

// Paginate cuts the requested page out of a complete list.
func Paginate[T any](c *Call, all []T) (Page[T], error) { return paginate(c, all, false) }

// PaginateSized is Paginate for lists that take page_size.
func PaginateSized[T any](c *Call, all []T) (SizedPage[T], error) {
	p, err := paginate(c, all, true)
	return SizedPage[T](p), err
}

func paginate[T any](c *Call, all []T, sized bool) (Page[T], error) {
	p, err := ReadPage(c, len(all), sized)
	if err != nil {
		return Page[T]{}, err
	}
	return Envelope(c, p, len(all), all[p.Offset:min(p.Offset+p.Limit, len(all))]), nil
}

// pageURL is the request's own URL with another page; the query is sorted by name and page 1 has no page parameter.
func pageURL(c *Call, page int) *string {
	q := url.Values{}
	for k, v := range c.Query() {
		q[k] = slices.Clone(v)
	}
	if page == 1 {
		q.Del("page")
	} else {
		q.Set("page", strconv.Itoa(page))
	}
	u := c.URL(c.Request.Path)
	if enc := q.Encode(); enc != "" {
		u += "?" + enc
	}
	return &u
}
