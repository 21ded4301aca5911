# What would be needed to say `sum = xmm0[0] + xmm0[1] + xmm0[2] + xmm0[3]`: lanes of a vector register as DWARF expressions.
# DW_OP_regval_type is the only operation that reads a vector register; at `stop` xmm0 holds 10, 20, 30, 40.
	.text
	.globl f
	.type f,@function
f:
.Lf:
	movl $10, %eax
	movd %eax, %xmm0
	movl $20, %eax
	pinsrd $1, %eax, %xmm0
	movl $30, %eax
	pinsrd $2, %eax, %xmm0
	movl $40, %eax
	pinsrd $3, %eax, %xmm0
	.globl stop
stop:
	nop
	ret
.Lfe:
	.globl main
main:
	call f
	xorl %eax,%eax
	ret
	.section .note.GNU-stack,"",@progbits
	.section .debug_abbrev,"",@progbits
.Labbrev:
	.uleb128 1; .uleb128 0x11; .byte 1
	.uleb128 0x03; .uleb128 0x08; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7; .uleb128 0x13; .uleb128 0x0b; .byte 0,0
	.uleb128 2; .uleb128 0x24; .byte 0
	.uleb128 0x03; .uleb128 8; .uleb128 0x0b; .uleb128 0x0b; .uleb128 0x3e; .uleb128 0x0b; .byte 0,0
	.uleb128 3; .uleb128 0x2e; .byte 1
	.uleb128 3; .uleb128 8; .uleb128 0x11; .uleb128 1; .uleb128 0x12; .uleb128 7; .uleb128 0x3f; .uleb128 0x19; .uleb128 0x40; .uleb128 0x18;.byte 0,0
	.uleb128 4; .uleb128 0x34; .byte 0
	.uleb128 3; .uleb128 8; .uleb128 0x49; .uleb128 0x13; .uleb128 2; .uleb128 0x18; .byte 0,0
	.byte 0
	.section .debug_info,"",@progbits
.Linfo:
	.long .Le-.Lb
.Lb:	.value 5
	.byte 1, 8
	.long .Labbrev
	.uleb128 1; .asciz "t.c"; .quad .Lf; .quad .Lfe-.Lf; .byte 0x0c
.Lint:	.uleb128 2; .asciz "int"; .byte 4, 5
.Lu64:	.uleb128 2; .asciz "unsigned long"; .byte 8, 7
.Lu128:	.uleb128 2; .asciz "unsigned __int128"; .byte 16, 7
	.uleb128 3; .asciz "f"; .quad .Lf; .quad .Lfe-.Lf; .byte 2, 0x77, 8
	# lane0: regval_type xmm0 int ; stack_value
	.uleb128 4; .asciz "lane0"; .long .Lint-.Linfo; .uleb128 1f-0f
0:	.byte 0xa5; .uleb128 17; .uleb128 .Lint-.Linfo; .byte 0x9f
1:	# lane1: regval_type u64 32 shr convert int
	.uleb128 4; .asciz "lane1"; .long .Lint-.Linfo; .uleb128 1f-0f
0:	.byte 0xa5; .uleb128 17; .uleb128 .Lu64-.Linfo; .byte 0x08,32; .byte 0xa8; .uleb128 .Lu64-.Linfo; .byte 0x25; .byte 0xa8; .uleb128 0; .byte 0x9f
1:	# lane2 by u128
	.uleb128 4; .asciz "lane2"; .long .Lint-.Linfo; .uleb128 1f-0f
0:	.byte 0xa5; .uleb128 17; .uleb128 .Lu128-.Linfo; .byte 0x08,64; .byte 0xa8; .uleb128 .Lu128-.Linfo; .byte 0x25; .byte 0xa8; .uleb128 0; .byte 0x9f
1:	# plain piece: reg xmm0 as int
	.uleb128 4; .asciz "reg0"; .long .Lint-.Linfo; .uleb128 1f-0f
0:	.byte 0x61
1:
	.byte 0,0
.Le:
