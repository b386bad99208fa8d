package app

import "github.com/prometheus/client_golang/prometheus"

// streams is the gauge of open event streams.
type streams struct {
	open *prometheus.Desc
	of   map[string]func() int64
}

// newStreams counts streams by place: the API or the console.
func newStreams(c *catalogue, of map[string]func() int64) *streams {
	return &streams{c.gauge("belfry_streams", "Streams of events and logs that are open.", "of"), of}
}

func (s *streams) Describe(ch chan<- *prometheus.Desc) { ch <- s.open }

func (s *streams) Collect(ch chan<- prometheus.Metric) {
	for of, count := range s.of {
		ch <- prometheus.MustNewConstMetric(s.open, prometheus.GaugeValue, float64(count()), of)
	}
}
