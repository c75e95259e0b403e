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
		who = "Agent"
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

// unsentWords says that a file of an answer could not be sent, why, and what to do.
func unsentWords(lang string, f *inbox.AnswerFile, code string, most int64) string {
	zh := lang == "zh"
	name := fileName(chat.Attachment{Name: f.Name}, zh) + " (" + fileSize(f.Bytes) + ")"
	why, whyZH := "the platform did not take it", "平台没有接受"
	switch code {
	case chat.CodeTooLarge:
		why, whyZH = "files here have at most "+fileSize(most), "这里的文件不能超过 "+fileSize(most)
	case "no_files":
		why, whyZH = "files are not sent here", "这里不能发送文件"
	case chat.CodeNoFile:
		why, whyZH = "it is no longer in the state folder", "文件已不在状态目录中"
	case "missing_scope", "99991672", "99991679", "50013":
		why, whyZH = "the app lacks the right to send files; `loopx doctor` says how to give it", "应用没有发送文件的权限，可用 `loopx doctor` 查看如何开通"
	}
	if zh {
		return name + " 无法发送：" + whyZH + "。可以请 Agent 把它放到你能读到的地方。"
	}
	return name + " could not be sent: " + why + ". Ask the agent to put it where you can read it."
}
