module example.com/exercise

go 1.19

require example.com/check v1.0.0

replace example.com/check => ./third_party/check
