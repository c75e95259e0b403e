package cards

import (
	"reflect"
	"testing"
)

// Both languages have every sentence.
func TestPlanWordsAreComplete(t *testing.T) {
	for _, lang := range []string{"en", "zh"} {
		v := reflect.ValueOf(planWordsOf(lang))
		for i := range v.NumField() {
			if v.Field(i).String() == "" {
				t.Errorf("%s has no %s", lang, v.Type().Field(i).Name)
			}
		}
	}
}
