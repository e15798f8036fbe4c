package exercise

import "errors"

// ErrNegative is the error of a price below zero.
var ErrNegative = errors.New("negative price")

// Price is an amount in cents.
type Price struct {
	Cents int
}

// Equal tells whether two prices are the same amount.
func (p Price) Equal(other Price) bool {
	return false
}

// Sum adds prices up.
func Sum(prices ...Price) (Price, error) {
	return Price{}, nil
}
