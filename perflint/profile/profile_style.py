"""The style of the profile page: that of the bench page, with a colour for each phase."""

from __future__ import annotations

from perflint.bench.style import STYLE

PROFILE_STYLE = (
    STYLE
    + """
:root{--v8:#8c4f2b}
@media (prefers-color-scheme:dark){:root{--v8:#d9a07e}}
.reader{--c:var(--v2)}.forward{--c:var(--v1)}.backward{--c:var(--v7)}.optimizer{--c:var(--v3)}.read{--c:var(--v6)}
.copy{--c:var(--v4)}.save{--c:var(--v5)}.log{--c:var(--v8)}.other{--c:var(--v0)}
.inside{fill:var(--ground);font-size:12px}
.lines td,.lines th,.phases td,.phases th{padding:6px 16px 6px 0}
.lines .r,.phases .r{text-align:right;white-space:nowrap}
.lines .code{color:var(--dim);overflow-wrap:anywhere}
.lines th{font-weight:400;white-space:nowrap}
.phases{max-width:760px;margin-top:16px}
.phases th{font-weight:400;white-space:nowrap}
.phases .swatch{display:inline-block;margin-right:8px}
.meter{width:96px;height:10px;display:inline-block;vertical-align:middle}
.wrap{overflow-x:auto}
@media (max-width:899px){.lines .code,.lines .m{display:none}}
@media (max-width:599px){.phases .meaning{display:none}.lines td,.lines th{padding-right:10px}}
"""
)
"""The page's policy allows only this text, by its hash."""
