package routing

import (
	"strconv"
	"strings"
	"unicode"
)

// moment reads a duration or a point in time, nothing else beside it.
func moment(t []string) Args {
	if len(t) > 0 && (fold(t[0]) == "until" || fold(t[0]) == "for" || t[0] == "到") {
		t = t[1:]
	}
	if len(t) == 0 || len(t) > 3 {
		return Args{Bad: "time"}
	}
	if ms := duration(fold(strings.Join(t, ""))); ms > 0 {
		return need(Args{For: ms}, ms <= MaxFor, "time")
	}
	s := fold(strings.Join(t, " "))
	s = strings.TrimSuffix(strings.TrimPrefix(s, "到"), "为止")
	if u := until(s); u != "" {
		return Args{Until: u}
	}
	return Args{Bad: "time"}
}

// duration reads "2h", "1h30m", "2小时", "3days"; ms, 0 for anything else.
func duration(s string) int64 {
	total := int64(0)
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
		if i <= 0 || i > 5 {
			return 0
		}
		n, _ := strconv.ParseInt(s[:i], 10, 64)
		s = s[i:]
		j := strings.IndexFunc(s, unicode.IsDigit)
		if j < 0 {
			j = len(s)
		}
		ms := unit(s[:j])
		if ms == 0 {
			return 0
		}
		total += n * ms // at most 5 digits of weeks a part, and a message is short
		s = s[j:]
		if total > MaxFor {
			return MaxFor + 1
		}
	}
	return total
}

func unit(u string) int64 {
	const minute = 60 * 1000
	switch u {
	case "m", "min", "mins", "minute", "minutes", "分", "分钟":
		return minute
	case "h", "hr", "hrs", "hour", "hours", "小时", "个小时", "时":
		return 60 * minute
	case "d", "day", "days", "天", "日":
		return 24 * 60 * minute
	case "w", "week", "weeks", "周", "星期", "个星期":
		return 7 * 24 * 60 * minute
	}
	return 0
}

// until reads a point in time into the form Args.Until names.
func until(s string) string {
	switch s {
	case "tomorrow", "明天":
		return "tomorrow"
	case "tonight", "今晚":
		return "tonight"
	case "后天":
		return "in_two_days"
	case "next week", "下周":
		return "next_week"
	}
	days := []string{"monday", "周一", "mon", "tuesday", "周二", "tue", "wednesday", "周三", "wed", "thursday", "周四", "thu", "friday", "周五", "fri", "saturday", "周六", "sat", "sunday", "周日", "sun"}
	for i, d := range days {
		if s == d {
			return days[i-i%3]
		}
	}
	if d, clock, ok := strings.Cut(s, " "); ok {
		if d, clock = date(d), hour(clock); d != "" && clock != "" {
			return d + " " + clock
		}
		return ""
	}
	if d := date(s); d != "" {
		return d
	}
	return hour(s)
}

// date reads 2026-12-03, 12-03 and 12月3日.
func date(s string) string {
	part := func(s string, low, high int) string {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high || len(s) > 4 || s[0] == '+' {
			return ""
		}
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	s = strings.NewReplacer("年", "-", "月", "-", "日", "", "号", "").Replace(s)
	p := strings.Split(s, "-")
	year := ""
	if len(p) == 3 {
		if year = part(p[0], 2000, 2999); year == "" {
			return ""
		}
		year, p = year+"-", p[1:]
	}
	if len(p) != 2 {
		return ""
	}
	m, d := part(p[0], 1, 12), part(p[1], 1, 31)
	if m == "" || d == "" {
		return ""
	}
	return year + m + "-" + d
}

// hour reads 18:00 and 9:30.
func hour(s string) string {
	h, m, ok := strings.Cut(s, ":")
	a, err1 := strconv.Atoi(h)
	b, err2 := strconv.Atoi(m)
	if !ok || err1 != nil || err2 != nil || len(h) > 2 || len(m) != 2 || a < 0 || a > 23 || b < 0 || b > 59 {
		return ""
	}
	if len(h) == 1 {
		h = "0" + h
	}
	return h + ":" + m
}
