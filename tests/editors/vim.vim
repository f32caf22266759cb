" What Vim with ALE shows, as JSON in the file $PERFLINT_ANSWERS.
" Usage: vim -N -u vim.vim -i NONE -n train.py     ($PERFLINT_CONFIGURATION names the file with the configuration)

set nocompatible encoding=utf-8 noswapfile
set runtimepath+=/usr/share/vim-ale
filetype plugin on
source $PERFLINT_CONFIGURATION

let s:answers = {}
let s:steps = ['First', 'Broken', 'Mended', 'Fixed']
let s:end = localtime() + 60

function! s:Rows() abort
  let l:found = filter(copy(ale#engine#GetLoclist(bufnr('train.py'))), 'has_key(v:val, "end_lnum")')
  return map(l:found, '[v:val.lnum - 1, v:val.col - 1, v:val.end_lnum - 1, v:val.end_col, get(v:val, "code", "")]')
endfunction

function! s:Has(code) abort
  return index(map(s:Rows(), 'v:val[4]'), a:code) >= 0
endfunction

" Without those that the settings leave out, which reach the server last.
function! s:HasFindings() abort
  return s:Has('PPF204') && !s:Has('PPF405')
endfunction

function! s:First() abort
  if !s:HasFindings() | return 0 | endif
  let s:answers.first = s:Rows()
  call append('$', split($PERFLINT_BREAK, "\n", 1))
  ALELint
  return 1
endfunction

function! s:Broken() abort
  if !s:Has('PPF001') | return 0 | endif
  let s:answers.broken = s:Rows()
  silent undo
  ALELint
  return 1
endfunction

function! s:Mended() abort
  if !s:HasFindings() | return 0 | endif
  let s:answers.mended = s:Rows()
  " fixes, as the configuration says, and writes the file again
  write
  return 1
endfunction

function! s:Fixed() abort
  if s:Has('PPF205') | return 0 | endif
  let s:answers.fixed = join(getline(1, '$'), "\n") . "\n"
  return 1
endfunction

function! s:Leave() abort
  call writefile([json_encode(s:answers)], $PERFLINT_ANSWERS)
  qall!
endfunction

function! s:Step(timer) abort
  try
    if empty(s:steps)
      call s:Leave()
    elseif call('s:' . s:steps[0], [])
      call remove(s:steps, 0)
    elseif localtime() > s:end
      throw 'waited in vain, ' . s:steps[0] . ': ' . string(ale#engine#GetLoclist(bufnr('')))
    endif
  catch
    let s:answers.error = v:exception . ' ' . v:throwpoint
    call s:Leave()
  endtry
endfunction

autocmd VimEnter * call timer_start(50, function('s:Step'), {'repeat': -1})
