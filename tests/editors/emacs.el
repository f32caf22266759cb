;;; What Emacs with eglot shows, as JSON in the file $PERFLINT_ANSWERS.  -*- lexical-binding: t -*-
;; Usage: emacs -Q --batch -l emacs.el      ($PERFLINT_CONFIGURATION names the file with the configuration)

(setq package-directory-list '("/usr/share/emacs/site-lisp/elpa")) ; where Debian has eglot, which -Q leaves out
(package-initialize)
(require 'eglot)
(require 'json)
(load (getenv "PERFLINT_CONFIGURATION") nil t)

(defun wait-for (what condition)
  (let ((end (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) end) (error "waited in vain for %s" what))
      (accept-process-output nil 0.05))))

(defun place (position)
  "Row and column of POSITION, both from 0, columns in characters."
  (save-excursion (goto-char position)
                  (list (1- (line-number-at-pos)) (- (point) (line-beginning-position)))))

(defun code-of (diagnostic)
  (let ((text (flymake-diagnostic-text diagnostic)))
    (and (string-match "PPF[0-9]+" text) (match-string 0 text))))

(defun rows ()
  (vconcat (mapcar (lambda (each)
                     (vconcat (place (flymake-diagnostic-beg each)) (place (flymake-diagnostic-end each))
                              (list (code-of each))))
                   (sort (flymake-diagnostics)
                         (lambda (a b) (< (flymake-diagnostic-beg a) (flymake-diagnostic-beg b)))))))

(defun has (code)
  (seq-some (lambda (each) (equal code (code-of each))) (flymake-diagnostics)))

(defun has-findings ()
  "Whether the findings are there, without those that the settings leave out, which reach the server last."
  (and (has "PPF204") (not (has "PPF405"))))

(defun tell-server ()
  "Send what has been typed, which eglot does when Emacs has been idle."
  (eglot--signal-textDocument/didChange))

(defun work ()
  (find-file "train.py")
  (run-hooks 'post-command-hook)        ; where `eglot-ensure' has put its work
  (wait-for "findings" #'has-findings)
  (let ((first (rows)) broken mended hover)
    (goto-char (point-max))
    (insert (getenv "PERFLINT_BREAK"))
    (tell-server)
    (wait-for "the syntax error" (lambda () (has "PPF001")))
    (setq broken (rows))
    (delete-char (- (length (getenv "PERFLINT_BREAK"))))
    (tell-server)
    (wait-for "the findings again" #'has-findings)
    (setq mended (rows))
    (goto-char (point-min))
    (search-forward "paddle.device")
    (setq hover (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)))
    (save-buffer)
    (list :first first :broken broken :mended mended
          :hover (plist-get (plist-get hover :contents) :value)
          :fixed (buffer-substring-no-properties (point-min) (point-max)))))

(let ((answers (condition-case problem (work) (error (list :error (error-message-string problem)))))
      (coding-system-for-write 'utf-8))
  (with-temp-file (getenv "PERFLINT_ANSWERS") (insert (json-serialize answers)))
  (kill-emacs 0))
