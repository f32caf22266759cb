-- What Neovim shows, as JSON in the file $PERFLINT_ANSWERS.
-- Usage: nvim --headless -u NONE -i NONE -n -S CONFIGURATION -S neovim.lua

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    error("waited in vain for " .. what)
  end
end

local function rows()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    local code = each.code or each.user_data.lsp.code
    table.insert(found, { each.lnum, each.col, each.end_lnum, each.end_col, code })
  end
  table.sort(found, function(one, other)
    return one[1] < other[1]
  end)
  return found
end

local function has(code)
  return function()
    for _, row in ipairs(rows()) do
      if row[5] == code then
        return true
      end
    end
    return false
  end
end

local function work()
  local answers = {}
  vim.cmd("edit train.py")
  vim.cmd("set filetype=python")
  wait("findings", has("PPF204"))
  answers.first = rows()

  local text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  vim.api.nvim_buf_set_lines(0, -1, -1, false, vim.split(vim.env.PERFLINT_BREAK, "\n"))
  wait("the syntax error", has("PPF001"))
  answers.broken = rows()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, text)
  wait("the findings again", has("PPF204"))
  answers.mended = rows()

  vim.api.nvim_win_set_cursor(0, { 11, 26 })
  local replies = vim.lsp.buf_request_sync(0, "textDocument/hover", vim.lsp.util.make_position_params(), 10000)
  for _, reply in pairs(replies) do
    answers.hover = reply.result.contents.value
  end

  vim.cmd("write")
  wait("the finding to be gone", function()
    return not has("PPF205")()
  end)
  answers.fixed = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n"
  return answers
end

local ok, result = pcall(work)
local answers = ok and result or { error = result }
vim.fn.writefile({ vim.fn.json_encode(answers) }, vim.env.PERFLINT_ANSWERS)
vim.cmd("qa!")
