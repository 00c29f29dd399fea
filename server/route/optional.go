package route

// Optional tells a missing member, null and a value apart.
type Optional[T any] struct {
	Value T
	// Set: the member was sent (as null or as a value), or a default filled it.
	Set bool
	// Null: it was sent as null.
	Null bool
}

// Some is a set Optional.
func Some[T any](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// Or gives the value, or alt when the member is missing or null.
func (o Optional[T]) Or(alt T) T {
	if o.Set && !o.Null {
		return o.Value
	}
	return alt
}

// Into stores the value when the member was sent; null stores the zero value.
func (o Optional[T]) Into(dst *T) {
	if o.Set {
		*dst = o.Value
	}
}

// IntoPtr stores a pointer when the member was sent; null stores nil.
func (o Optional[T]) IntoPtr(dst **T) {
	if !o.Set {
		return
	}
	if o.Null {
		*dst = nil
		return
	}
	v := o.Value
	*dst = &v
}

// optional is how the schema and the encoder recognise an Optional by its type.
type optional interface{ isOptional() }

func (Optional[T]) isOptional() {}
