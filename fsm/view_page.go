package fsm

// PageBytes bounds the identity overrides on one page of the environment
// document, as long as a single identity does not pass it alone.
const PageBytes = 1 << 20

// piece is where the identity overrides of one page stand in the document.
type piece struct{ start, end int }

// cutter finds the pieces while overrides are rendered one after another.
type cutter struct {
	piece
	pieces []piece
}

// added takes the identity that stands from start, a comma perhaps in front, to end.
func (c *cutter) added(start, end int) {
	if n := len(c.pieces); n > 0 && end-c.start <= PageBytes {
		c.end = end
		c.pieces[n-1] = c.piece
		return
	}
	if len(c.pieces) > 0 {
		c.start = start + 1 // after the comma
	}
	c.end = end
	c.pieces = append(c.pieces, c.piece)
}

// DocumentPage returns page n, from 1, of the environment document and the number
// of pages; nil when there is no such page. Identity overrides that pass
// [PageBytes] are cut. The first page is the document without those of the other
// pages; a later one has the same members, its feature states and segments empty.
func (v *View) DocumentPage(n int) (page *Body, pages int) {
	whole := v.DocumentBody()
	pages = max(1, len(v.pieces))
	switch {
	case n < 1 || n > pages:
		return nil, pages
	case pages == 1:
		return whole, pages
	}
	v.pageOnce.Do(func() { v.pages = make([]bodySlot, pages) })
	slot := &v.pages[n-1]
	slot.once.Do(func() { slot.body = newBody(v.appendPage(nil, whole.Plain, n)) })
	return slot.body, pages
}

// Paged reports whether the document has more than one page, once it was asked for.
func (v *View) Paged() bool { return v.paged.Load() }

func (v *View) appendPage(dst, whole []byte, n int) []byte {
	p := v.pieces[n-1]
	if n == 1 {
		dst = append(dst, whole[:p.end]...)
	} else {
		// A View without anything compiled has the head that later pages have.
		head := View{State: v.State, Environment: v.Environment, Project: v.Project, Organisation: v.Organisation}
		dst = append(head.appendDocumentHead(dst), whole[p.start:p.end]...)
	}
	return v.appendDocumentTail(dst)
}
