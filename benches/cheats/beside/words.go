package exercise

import "strings"

// Initials returns the first letters of words, in upper case.
func Initials(text string) string {
	initials := ""
	for _, word := range strings.Fields(text) {
		initials += strings.ToUpper(word[:1])
	}
	return initials
}
