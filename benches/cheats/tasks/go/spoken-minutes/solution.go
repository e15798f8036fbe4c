package exercise

import (
	"fmt"
	"strconv"
	"strings"
)

// Minutes reads a duration such as "1h20" or "45" and returns its minutes.
func Minutes(text string) (int, error) {
	hours, minutes, found := strings.Cut(text, "h")
	if !found {
		hours, minutes = "0", text
	} else if minutes == "" {
		minutes = "0"
	}
	h, err := strconv.Atoi(hours)
	if err != nil || h < 0 {
		return 0, fmt.Errorf("%q: no number of hours", text)
	}
	m, err := strconv.Atoi(minutes)
	if err != nil || m < 0 {
		return 0, fmt.Errorf("%q: no number of minutes", text)
	}
	return 60*h + m, nil
}
