package fsm

import "sync/atomic"

// preparedSlots is how many things a server may keep with a View.
const preparedSlots = 24

// prepared is what a server made of a View; it goes when the View goes.
type prepared [preparedSlots]atomic.Value

// Prepared is room for what a server makes of a View once and then only copies,
// such as headers with its tags and tokens. A slot belongs to whoever fills it;
// its values have one type.
func (v *View) Prepared(slot int) *atomic.Value { return &v.prepared[slot] }
