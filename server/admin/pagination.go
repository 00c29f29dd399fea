package admin

import "github.com/flagraft/flagraft/server/route"

// paginate makes the envelope of a list whose page size is fixed (ADMIN §1, class "default"). Only the page's rows are rendered.
func paginate[R, Out any](c *Ctx, rows []R, render func(R) Out) (route.Page[Out], error) {
	return page(c, rows, render, false)
}

// paginateSized is paginate for lists that take page_size (class "custom").
func paginateSized[R, Out any](c *Ctx, rows []R, render func(R) Out) (route.SizedPage[Out], error) {
	p, err := page(c, rows, render, true)
	return route.SizedPage[Out](p), err
}

func page[R, Out any](c *Ctx, rows []R, render func(R) Out, sized bool) (route.Page[Out], error) {
	p, err := route.ReadPage(c.Call, len(rows), sized)
	if err != nil {
		return route.Page[Out]{}, err
	}
	shown := rows[p.Offset:min(p.Offset+p.Limit, len(rows))]
	return route.Envelope(c.Call, p, len(rows), mapped(shown, render)), nil
}
