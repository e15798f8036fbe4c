package exercise

import "sort"

// Stay is a stay in a room, from the first night to the last one.
type Stay struct {
	First, Last int
}

// Merged returns the stays in order, with those that touch or overlap made one.
func Merged(stays []Stay) []Stay {
	ordered := append([]Stay(nil), stays...)
	sort.Slice(ordered, func(a, b int) bool { return ordered[a].First < ordered[b].First })
	var merged []Stay
	for _, stay := range ordered {
		last := len(merged) - 1
		if last < 0 || stay.First > merged[last].Last+1 {
			merged = append(merged, stay)
		} else if stay.Last > merged[last].Last {
			merged[last].Last = stay.Last
		}
	}
	return merged
}
