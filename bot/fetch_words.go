package bot

import (
	"fmt"
	"strings"

	"loopx/adapters/chat"
	"loopx/inbox"
)

// fileWords says which files of a message did not come along and what to do, and
// of a message that is nothing but files where they are. Empty: all is well and
// needs no words.
func fileWords(lang, agent string, v *inbox.Message) string {
	zh := lang == "zh"
	who := agent
	switch {
	case who == "" && zh:
		who = "智能体"
	case who == "":
		who = "the agent"
	}
	var lines, kept []string
	for _, f := range v.Files {
		name := fileName(f.Attachment, zh)
		if f.State == inbox.FileKept {
			kept = append(kept, name+" ("+fileSize(f.Bytes)+")")
			continue
		}
		if zh {
			lines = append(lines, name+" 没有收下："+fileWhyZH(f.Why))
		} else {
			lines = append(lines, name+" did not come along: "+fileWhy(f.Why))
		}
	}
	silent := strings.TrimSpace(v.Text) == ""
	switch {
	case len(lines) == 0 && !silent:
		return ""
	case len(lines) == 0 && zh:
		return "收到 " + strings.Join(kept, "、") + "，已交给 " + who + "。请再写一句要对它做什么。"
	case len(lines) == 0:
		return "I got " + strings.Join(kept, ", ") + " and " + who + " has it. Write in a message what should be done with it."
	case zh:
		return strings.Join(lines, "\n") + "\n你的消息本身已交给 " + who + "。可以再发一次，或把文件放到 " + who + " 能读到的地方并告诉它在哪里。"
	}
	return strings.Join(lines, "\n") + "\nYour message itself is with " + who + ". Send the file again, or put it where " + who + " can read it and say where."
}

// fileName is what the sender called a file, made harmless.
func fileName(a chat.Attachment, zh bool) string {
	name := []rune(strings.Join(strings.Fields(chat.Visible(a.Name)), " "))
	switch {
	case len(name) > 60:
		return string(name[:59]) + "…"
	case len(name) > 0:
		return string(name)
	case zh:
		return "附件"
	}
	return "The attachment"
}

func fileSize(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

func fileWhy(code string) string {
	switch code {
	case chat.CodeTooLarge:
		return fmt.Sprintf("it is larger than %d MB.", inbox.FileMost>>20)
	case inbox.WhyTooMany:
		return "one message brings at most ten files."
	case chat.CodeNoFile:
		return "the platform does not give it out, or it was deleted."
	case chat.CodeNoAccess, "missing_scope":
		return "the app lacks the right to read files. The owner sees with `loopx doctor` how to give it."
	}
	return "the platform did not hand it over."
}

func fileWhyZH(code string) string {
	switch code {
	case chat.CodeTooLarge:
		return fmt.Sprintf("超过 %d MB。", inbox.FileMost>>20)
	case inbox.WhyTooMany:
		return "一条消息最多带十个文件。"
	case chat.CodeNoFile:
		return "平台不提供这个文件，或者它已被删除。"
	case chat.CodeNoAccess, "missing_scope":
		return "应用没有读取文件的权限，所有者可以用 `loopx doctor` 查看如何开通。"
	}
	return "平台没有交出这个文件。"
}
