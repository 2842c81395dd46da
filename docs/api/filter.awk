#!/usr/bin/awk -f
# Comments of a header as Doxygen's: lines of their own belong to what follows, those behind code to what stands before them.
# What Doxygen would take for commands, tags or links is escaped.
{
  at = index($0, "//")
  if (at == 0) {
    print
    next
  }
  code = substr($0, 1, at - 1)
  text = substr($0, at + 2)
  gsub(/[\\@<>#&$%]/, "\\\\&", text)
  print code (code ~ /^[ \t]*$/ ? "///" : "///<") text
}
