package inbox

import "context"

func ctx() context.Context { return context.Background() }
