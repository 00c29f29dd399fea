package eval

// slotTexts are the texts that conditions compare the trait of a slot with.
type slotTexts struct {
	few  []numberedText
	many bool // too many to look through one by one: see [Environment]
}

type numberedText struct {
	text   string
	number int32
}

// maxFew is how many texts are sooner compared with than hashed.
const maxFew = 6

// textsBySlot gathers the texts of all rules.
func textsBySlot(segments []*segment) []slotTexts {
	var bySlot []slotTexts
	var gather func(rules []rule)
	gather = func(rules []rule) {
		for i := range rules {
			for _, check := range rules[i].texts {
				for len(bySlot) <= int(check.slot) {
					bySlot = append(bySlot, slotTexts{})
				}
				bySlot[check.slot].add(numberedText{rules[i].conditions[check.condition].text, check.text})
			}
			gather(rules[i].rules)
		}
	}
	for _, g := range segments {
		gather(g.rules.rules)
	}
	return bySlot
}

func (t *slotTexts) add(text numberedText) {
	for _, have := range t.few {
		if have.number == text.number {
			return
		}
	}
	if t.many = t.many || len(t.few) == maxFew; t.many {
		t.few = nil
		return
	}
	t.few = append(t.few, text)
}

// textNumber is the number of a text that some condition compares the trait of slot with; without one, 0 or the number
// that the text has elsewhere.
func (e *Environment) textNumber(slot int32, text string) int32 {
	if int(slot) >= len(e.guards.texts) {
		return 0
	}
	known := &e.guards.texts[slot]
	if known.many {
		return e.texts[text]
	}
	for i := range known.few {
		if known.few[i].text == text {
			return known.few[i].number
		}
	}
	return 0
}
