-- For Flux: in /etc/flux/shell/initrc.lua, after everything else,
-- source_if_exists("/usr/share/crosswind/batch/flux/crosswind.lua").
-- The library comes in front of LD_PRELOAD of every task, unless the job says no. Where it is missing nothing is set: the
-- dynamic linker would say so at every exec.
local library = "/usr/lib/crosswind/libcrosswind.so"

local function is_readable(path)
  local file = io.open(path, "r")
  if file then file:close() end
  return file ~= nil
end

local disable = shell.getenv("CROSSWIND_DISABLE") or "0"
local says_no = not (disable == "" or disable == "0" or disable == "off" or disable == "no")
local users = shell.getenv("LD_PRELOAD") or ""
local is_there = (":" .. users:gsub(" ", ":") .. ":"):find("/libcrosswind.so:", 1, true) ~= nil

if not says_no and not is_there and is_readable(library) then
  shell.setenv("LD_PRELOAD", users == "" and library or library .. ":" .. users)
end
