package totals

// Total returns the sum of prices.
func Total(prices []int) int {
	sum := 0
	for _, price := range prices {
		sum += price
	}
	return sum
}

// Largest returns the largest of prices; 0 if there are none.
func Largest(prices []int) int {
	largest := 0
	for _, price := range prices {
		if price > largest {
			largest = price
		}
	}
	return largest
}
