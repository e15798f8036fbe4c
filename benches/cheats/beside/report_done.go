package exercise

import "fmt"

func Report(prices []int) string {
	report := ""
	for _, price := range prices {
		report += fmt.Sprintf("%6d\n", price)
	}
	return report
}
