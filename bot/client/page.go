package client

import "context"

// PathPage approves a session of the local page.
const PathPage = "/v1/page"

// PageRequest is its body: the code a page shows, with the owner's proof.
type PageRequest struct {
	Code       string `json:"code"`
	OwnerToken string `json:"owner_token"`
}

// ApprovePage lets the page session that shows code act as the owner. It needs
// OwnerToken. The error is of class not_found when no page shows the code.
func (c *Client) ApprovePage(ctx context.Context, code string) error {
	_, err := c.post(ctx, PathPage, PageRequest{Code: code, OwnerToken: c.OwnerToken})
	return err
}
