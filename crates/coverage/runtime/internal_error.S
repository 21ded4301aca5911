/* Coverage as it was when gcc met an internal error.

   gcc reports internal errors through these two functions, and what reports them (diagnostics,
   pretty printers, back traces) would otherwise top every ranking of crashes. The linker sends calls
   of them here (--wrap); the arguments, which may be any number, pass through untouched. */

	.text

	.macro	stop_before name
	.globl	__wrap_\name
	.type	__wrap_\name, @function
__wrap_\name:
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%rax
	call	candor_coverage_write
	pop	%rax
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	jmp	__real_\name
	.size	__wrap_\name, . - __wrap_\name
	.endm

	/* internal_error (const char *, ...) and fancy_abort (const char *, int, const char *) */
	stop_before _Z14internal_errorPKcz
	stop_before _Z11fancy_abortPKciS0_

	.section .note.GNU-stack, "", @progbits
