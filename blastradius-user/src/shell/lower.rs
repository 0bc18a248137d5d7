//! The parser's tree → the tree that is evaluated.
//!
//! Only the structure is taken from the parser: every word is taken apart again from the source, by
//! [`super::word`], so that one place decides what quotes mean.

use std::rc::Rc;

use shuck_ast as ast;

use super::syntax::{
    Arg, ArithFor, AssignedValue, Assignment, CaseArm, CaseEnd, Command, Link, List, Part, Redirection,
    RedirectionKind, Script, Simple, Span, Statement, Test, Word,
};
use super::word::{self, Context};

/// Lowers what the parser has made of the part of `source` that begins at `begin`.
pub(crate) fn script(source: &Rc<str>, begin: usize, file: &ast::File) -> Script {
    let lower = Lower { part: source.get(begin..).unwrap_or(""), begin };
    Script { source: source.clone(), body: lower.list(&file.body) }
}

struct Lower<'a> {
    /// The text that the parser's offsets are into.
    part: &'a str,
    /// Where it begins in the whole.
    begin: usize,
}

impl<'a> Lower<'a> {
    fn slice(&self, span: ast::Span) -> &'a str {
        self.part.get(span.start.offset()..span.end.offset()).unwrap_or("")
    }

    fn span(&self, span: ast::Span) -> Span {
        let at = |offset: usize| u32::try_from(self.begin + offset).unwrap_or(u32::MAX);
        Span { start: at(span.start.offset()), end: at(span.end.offset()) }
    }

    fn list(&self, list: &ast::StmtSeq) -> List {
        list.stmts.iter().map(|statement| self.statement(statement)).collect()
    }

    fn statement(&self, statement: &ast::Stmt) -> Statement {
        let mut lowered = self.plain_statement(statement);
        // The parser takes the number of `3<<<word` for an argument.
        for (redirect, lowered_redirect) in statement.redirects.iter().zip(&mut lowered.redirections) {
            let start = redirect.span.start.offset();
            if redirect.kind != ast::RedirectKind::HereString || redirect.fd.is_some() {
                continue;
            }
            let (ast::Command::Simple(simple), Command::Simple(command)) =
                (&statement.command, &mut lowered.command)
            else {
                continue;
            };
            let number = simple.args.iter().position(|word| word.span.end.offset() == start);
            let Some(at) = number else { continue };
            let Ok(fd) = self.slice(simple.args[at].span).parse() else { continue };
            let skipped = command.args.len() - simple.args.len();
            command.args.remove(at + skipped);
            lowered_redirect.fd = Some(fd);
        }
        lowered
    }

    fn plain_statement(&self, statement: &ast::Stmt) -> Statement {
        let background = matches!(statement.terminator, Some(ast::StmtTerminator::Background(_)));
        Statement {
            command: self.command(&statement.command),
            negated: statement.negated,
            background,
            redirections: statement.redirects.iter().map(|redirect| self.redirection(redirect)).collect(),
            span: self.span(statement.span),
        }
    }

    fn boxed(&self, statement: &ast::Stmt) -> Box<Statement> {
        Box::new(self.statement(statement))
    }

    fn word(&self, word: &ast::Word) -> Word {
        self.word_in(word, Context::Command)
    }

    fn word_in(&self, word: &ast::Word, context: Context) -> Word {
        word::parse(self.slice(word.span), context)
    }

    fn command(&self, command: &ast::Command) -> Command {
        match command {
            ast::Command::Simple(simple) => {
                let mut args = Vec::with_capacity(simple.args.len() + 1);
                let mut assignments = self.assignments(&simple.assignments);
                // The parser takes the value of `X=<(…)` for the command.
                let last = simple.assignments.last().map(|last| last.span.end.offset());
                if last == Some(simple.name.span.start.offset())
                    && let Some(assignment) = assignments.last_mut()
                {
                    assignment.value = AssignedValue::Scalar(self.word_in(&simple.name, Context::Assignment));
                } else if !self.slice(simple.name.span).is_empty() {
                    args.push(Arg::Word(self.word(&simple.name)));
                }
                args.extend(simple.args.iter().map(|word| Arg::Word(self.word(word))));
                Command::Simple(Simple { assignments, args })
            }
            ast::Command::Builtin(builtin) => self.builtin(builtin),
            ast::Command::Decl(declaration) => {
                let variant = word::parse(self.slice(declaration.variant_span), Context::Command);
                let mut args = vec![Arg::Word(variant)];
                args.extend(declaration.operands.iter().map(|operand| match operand {
                    ast::DeclOperand::Flag(word) | ast::DeclOperand::Dynamic(word) => {
                        Arg::Word(self.word(word))
                    }
                    ast::DeclOperand::Name(name) => {
                        Arg::Word(word::parse(self.slice(name.span), Context::Command))
                    }
                    ast::DeclOperand::Assignment(assignment) => {
                        Arg::Assignment(Box::new(self.assignment(assignment)))
                    }
                }));
                Command::Simple(Simple { assignments: self.assignments(&declaration.assignments), args })
            }
            ast::Command::Binary(binary) => self.binary(binary),
            ast::Command::Compound(compound) => self.compound(compound),
            ast::Command::Function(function) => self.function(function),
            ast::Command::AnonymousFunction(function) => Command::Wrapped(self.boxed(&function.body)),
        }
    }

    fn builtin(&self, builtin: &ast::BuiltinCommand) -> Command {
        let (name, first, rest, assignments) = match builtin {
            ast::BuiltinCommand::Break(c) => ("break", &c.depth, &c.extra_args, &c.assignments),
            ast::BuiltinCommand::Continue(c) => ("continue", &c.depth, &c.extra_args, &c.assignments),
            ast::BuiltinCommand::Return(c) => ("return", &c.code, &c.extra_args, &c.assignments),
            ast::BuiltinCommand::Exit(c) => ("exit", &c.code, &c.extra_args, &c.assignments),
        };
        let mut args = vec![Arg::Word(word::parse(name, Context::Command))];
        args.extend(first.iter().chain(rest).map(|word| Arg::Word(self.word(word))));
        Command::Simple(Simple { assignments: self.assignments(assignments), args })
    }

    /// A chain of `&&` and `||`, or a pipeline, flattened: the parser nests them to the left.
    fn binary(&self, binary: &ast::BinaryCommand) -> Command {
        let pipe = |op: ast::BinaryOp| matches!(op, ast::BinaryOp::Pipe | ast::BinaryOp::PipeAll);
        let is_pipe = pipe(binary.op);
        let mut links = vec![(binary.op, &*binary.right)];
        let mut left = &*binary.left;
        while let ast::Command::Binary(inner) = &left.command
            && pipe(inner.op) == is_pipe
            && !left.negated
            && left.redirects.is_empty()
        {
            links.push((inner.op, &*inner.right));
            left = &*inner.left;
        }
        let first = self.statement(left);
        let rest = links.into_iter().rev();
        if is_pipe {
            let mut stages = vec![first];
            stages.extend(rest.map(|(_, stage)| self.statement(stage)));
            return Command::Pipeline(stages);
        }
        let link = |op| if op == ast::BinaryOp::And { Link::And } else { Link::Or };
        Command::AndOr(Box::new(first), rest.map(|(op, next)| (link(op), self.statement(next))).collect())
    }

    fn compound(&self, compound: &ast::CompoundCommand) -> Command {
        use ast::CompoundCommand as C;
        match compound {
            C::If(c) => {
                let mut arms = vec![(self.list(&c.condition), self.list(&c.then_branch))];
                arms.extend(c.elif_branches.iter().map(|(when, then)| (self.list(when), self.list(then))));
                Command::If { arms, otherwise: c.else_branch.as_ref().map(|list| self.list(list)) }
            }
            C::For(c) => Command::For {
                names: c.targets.iter().map(|target| self.slice(target.span).into()).collect(),
                words: c.words.as_ref().map(|words| words.iter().map(|word| self.word(word)).collect()),
                body: self.list(&c.body),
            },
            C::Foreach(c) => Command::For {
                names: vec![c.variable.as_str().into()],
                words: Some(c.words.iter().map(|word| self.word(word)).collect()),
                body: self.list(&c.body),
            },
            C::Repeat(c) => Command::Repeat(self.list(&c.body)),
            C::ArithmeticFor(c) => Command::ArithFor(Box::new(ArithFor {
                init: self.arithmetic(c.init_span),
                condition: self.arithmetic(c.condition_span),
                step: self.arithmetic(c.step_span),
                body: self.list(&c.body),
            })),
            C::While(c) => {
                Command::While { until: false, condition: self.list(&c.condition), body: self.list(&c.body) }
            }
            C::Until(c) => {
                Command::While { until: true, condition: self.list(&c.condition), body: self.list(&c.body) }
            }
            C::Case(c) => Command::Case {
                word: Box::new(self.word_in(&c.word, Context::Single)),
                arms: c.cases.iter().map(|arm| self.case_arm(arm)).collect(),
            },
            C::Select(c) => Command::Select {
                name: c.variable.as_str().into(),
                words: c.words.iter().map(|word| self.word(word)).collect(),
                body: self.list(&c.body),
            },
            C::Subshell(list) => Command::Subshell(self.list(list)),
            C::BraceGroup(list) => Command::Group(self.list(list)),
            C::Arithmetic(c) => match self.arithmetic(c.expr_span) {
                Some(word) => Command::Arith(Box::new(word)),
                None => Command::Nothing,
            },
            C::Time(c) => {
                c.command.as_ref().map_or(Command::Nothing, |inner| Command::Wrapped(self.boxed(inner)))
            }
            C::Conditional(c) => Command::Test(Box::new(self.test(&c.expression))),
            C::Coproc(c) => Command::Wrapped(self.boxed(&c.body)),
            C::Always(c) => Command::Always(self.list(&c.body), self.list(&c.always_body)),
        }
    }

    fn arithmetic(&self, span: Option<ast::Span>) -> Option<Word> {
        span.map(|span| word::parse(self.slice(span), Context::Arithmetic))
    }

    fn case_arm(&self, arm: &ast::CaseItem) -> CaseArm {
        CaseArm {
            patterns: arm.patterns.iter().map(|p| word::parse(self.slice(p.span), Context::Single)).collect(),
            body: self.list(&arm.body),
            end: match arm.terminator {
                ast::CaseTerminator::Break => CaseEnd::Break,
                ast::CaseTerminator::FallThrough => CaseEnd::FallThrough,
                ast::CaseTerminator::Continue | ast::CaseTerminator::ContinueMatching => CaseEnd::Continue,
            },
        }
    }

    fn function(&self, function: &ast::FunctionDef) -> Command {
        let entries = function.header.entries.iter();
        Command::Function {
            names: entries.map(|entry| self.slice(entry.word.span).into()).collect(),
            body: Rc::new(self.statement(&function.body)),
        }
    }

    fn test(&self, expression: &ast::ConditionalExpr) -> Test {
        use ast::ConditionalBinaryOp as B;
        match expression {
            ast::ConditionalExpr::Binary(binary) => {
                let both = |make: fn(Box<Test>, Box<Test>) -> Test| {
                    make(Box::new(self.test(&binary.left)), Box::new(self.test(&binary.right)))
                };
                match binary.op {
                    B::And => both(Test::And),
                    B::Or => both(Test::Or),
                    op => {
                        Test::Binary(self.test_word(&binary.left), op.as_str(), self.test_word(&binary.right))
                    }
                }
            }
            ast::ConditionalExpr::Unary(unary) if unary.op == ast::ConditionalUnaryOp::Not => {
                Test::Not(Box::new(self.test(&unary.expr)))
            }
            ast::ConditionalExpr::Unary(unary) => Test::Unary(unary.op.as_str(), self.test_word(&unary.expr)),
            ast::ConditionalExpr::Parenthesized(inner) => self.test(&inner.expr),
            other => Test::Word(self.test_word(other)),
        }
    }

    fn test_word(&self, expression: &ast::ConditionalExpr) -> Word {
        word::parse(self.slice(expression.span()), Context::Single)
    }

    fn assignments(&self, assignments: &[ast::Assignment]) -> Vec<Assignment> {
        assignments.iter().map(|assignment| self.assignment(assignment)).collect()
    }

    fn assignment(&self, assignment: &ast::Assignment) -> Assignment {
        let subscript =
            |subscript: &ast::Subscript| word::parse(self.slice(subscript.span()), Context::Arithmetic);
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => {
                AssignedValue::Scalar(self.word_in(word, Context::Assignment))
            }
            ast::AssignmentValue::Compound(array) => AssignedValue::Array(
                array
                    .elements
                    .iter()
                    .map(|element| match element {
                        ast::ArrayElem::Sequential(value) => (None, self.word(value)),
                        ast::ArrayElem::Keyed { key, value } | ast::ArrayElem::KeyedAppend { key, value } => {
                            (Some(subscript(key)), self.word_in(value, Context::Assignment))
                        }
                    })
                    .collect(),
            ),
        };
        Assignment {
            name: assignment.target.name.as_str().into(),
            subscript: assignment.target.subscript.as_deref().map(subscript),
            append: assignment.append,
            value,
        }
    }

    fn redirection(&self, redirect: &ast::Redirect) -> Redirection {
        use ast::RedirectKind as K;
        let kind = match redirect.kind {
            K::Output | K::Clobber => RedirectionKind::Output,
            K::Append => RedirectionKind::Append,
            K::Input => RedirectionKind::Input,
            K::ReadWrite => RedirectionKind::ReadWrite,
            K::HereDoc | K::HereDocStrip => RedirectionKind::HereDoc,
            K::HereString => RedirectionKind::HereString,
            K::DupOutput | K::DupInput => RedirectionKind::Duplicate,
            K::OutputBoth => RedirectionKind::Both,
        };
        let target = match &redirect.target {
            ast::RedirectTarget::Word(word) => {
                let context =
                    if kind == RedirectionKind::HereString { Context::Single } else { Context::Command };
                self.word_in(word, context)
            }
            ast::RedirectTarget::Heredoc(heredoc) => self.here_document(heredoc),
        };
        let fd_name = redirect.fd_var.as_ref().map(|name| name.as_str().into());
        Redirection { fd: redirect.fd, fd_name, kind, target }
    }

    fn here_document(&self, heredoc: &ast::Heredoc) -> Word {
        let body = self.slice(heredoc.body.span);
        let stripped: String;
        let body = if heredoc.delimiter.strip_tabs {
            stripped = body.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect();
            &stripped
        } else {
            body
        };
        if heredoc.delimiter.expands_body {
            return word::parse(body, Context::HereDoc);
        }
        let text: Rc<str> = body.into();
        let parts = vec![Part::Text { text: text.clone(), quoted: true }];
        Word { parts, source: text, ..Word::default() }
    }
}
