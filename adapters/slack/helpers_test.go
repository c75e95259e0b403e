package slack_test

import (
	"net/http"
	"testing"
)

// httpClient is a client whose idle connections end with the test.
func httpClient(t *testing.T) *http.Client {
	t.Helper()
	tr := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
