/*
 * llvm_object.c -- a loader for the relocatable ELF objects that LLVM emits
 *
 * Sections that occupy memory are laid out one after the other in one mapping,
 * relocations are applied, then the mapping becomes readable and executable. It is
 * never writable and executable at once.
 *
 * Objects also come from the disk cache, so nothing in them is trusted: every offset,
 * count and index is checked against the buffer or the mapping before use, structures
 * are copied out because offsets may be unaligned, and sums are formed where they
 * cannot wrap.
 */
#include "engine/llvm/llvm_object.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "os/code_pages.h"

enum { SECTION_LIMIT = 4096, ALIGN_LIMIT = 4096 };
#define MEMORY_LIMIT ((uint64_t) 1 << 30)

typedef struct Reader {
    const uint8_t *data;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr *sections; /* copies of all section headers */
    uint64_t *offsets;    /* place of each section in the mapping, NOT_LOADED if none */
    uint8_t *memory;
    uint64_t memory_size;
    Elf64_Shdr symbols; /* the symbol table */
    Elf64_Shdr names;   /* its string table */
} Reader;

#define NOT_LOADED UINT64_MAX

static bool refuse(const char *reason)
{
    return error_set(JIT_ERROR_COMPILE, "object code of a kernel is not usable: %s",
                     reason);
}

/* Does [offset, offset + size) lie within 'limit' bytes? */
static bool within(uint64_t offset, uint64_t size, uint64_t limit)
{
    return offset <= limit && size <= limit - offset;
}

static bool read_header(Reader *reader)
{
    Elf64_Ehdr *header = &reader->header;
    if (reader->size < sizeof *header) {
        return refuse("it is too short");
    }
    memcpy(header, reader->data, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_REL ||
        header->e_shentsize != sizeof(Elf64_Shdr)) {
        return refuse("it is not a 64-bit relocatable ELF file");
    }
#if defined(__x86_64__)
    bool machine = header->e_machine == EM_X86_64;
#else
    bool machine = header->e_machine == EM_AARCH64;
#endif
    if (!machine) {
        return refuse("it is for another kind of CPU");
    }
    if (header->e_shnum == 0 || header->e_shnum > SECTION_LIMIT ||
        !within(header->e_shoff, (uint64_t) header->e_shnum * sizeof(Elf64_Shdr),
                reader->size)) {
        return refuse("its section table is damaged");
    }
    return true;
}

/* Copy the section headers, check them, and give memory to those that need it. */
static bool lay_out(Reader *reader)
{
    unsigned count = reader->header.e_shnum;
    memcpy(reader->sections, reader->data + reader->header.e_shoff,
           count * sizeof *reader->sections);
    uint64_t end = 0;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        bool empty = section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL;
        reader->offsets[i] = NOT_LOADED;
        if (!empty && !within(section->sh_offset, section->sh_size, reader->size)) {
            return refuse("a section lies outside of it");
        }
        if (!(section->sh_flags & SHF_ALLOC) || section->sh_type == SHT_NULL) {
            continue;
        }
        if (section->sh_flags & (SHF_WRITE | SHF_TLS) ||
            section->sh_type == SHT_NOBITS) {
            return refuse("it has writable data");
        }
        uint64_t align = section->sh_addralign ? section->sh_addralign : 1;
        if (align > ALIGN_LIMIT || (align & (align - 1)) ||
            section->sh_size > MEMORY_LIMIT || end > MEMORY_LIMIT) {
            return refuse("a section has an impossible size or alignment");
        }
        end = (end + align - 1) & ~(align - 1);
        reader->offsets[i] = end;
        end += section->sh_size;
    }
    if (end == 0 || end > MEMORY_LIMIT) {
        return refuse("it has no code or too much");
    }
    reader->memory_size = end;
    return true;
}

static bool find_symbols(Reader *reader)
{
    for (unsigned i = 0; i < reader->header.e_shnum; i++) {
        const Elf64_Shdr *section = &reader->sections[i];
        if (section->sh_type != SHT_SYMTAB) {
            continue;
        }
        if (section->sh_entsize != sizeof(Elf64_Sym) ||
            section->sh_link >= reader->header.e_shnum ||
            reader->sections[section->sh_link].sh_type != SHT_STRTAB) {
            break;
        }
        reader->symbols = *section;
        reader->names = reader->sections[section->sh_link];
        return true;
    }
    return refuse("its symbol table is damaged");
}

static bool read_symbol(const Reader *reader, uint64_t index, Elf64_Sym *symbol)
{
    if (index >= reader->symbols.sh_size / sizeof *symbol) {
        return refuse("a symbol number is out of range");
    }
    memcpy(symbol, reader->data + reader->symbols.sh_offset + index * sizeof *symbol,
           sizeof *symbol);
    return true;
}

/* Name of a symbol; "" if its text is not inside the string table. */
static const char *symbol_name(const Reader *reader, const Elf64_Sym *symbol)
{
    if (symbol->st_name >= reader->names.sh_size) {
        return "";
    }
    const char *name =
        (const char *) reader->data + reader->names.sh_offset + symbol->st_name;
    size_t left = reader->names.sh_size - symbol->st_name;
    return memchr(name, 0, left) ? name : "";
}

/* Offset in the mapping that a symbol stands for. */
static bool symbol_offset(const Reader *reader, const Elf64_Sym *symbol,
                          uint64_t *offset)
{
    if (symbol->st_shndx == SHN_UNDEF) {
        return error_set(JIT_ERROR_COMPILE,
                         "object code of a kernel needs the external "
                         "function '%.60s', which kernels cannot call",
                         symbol_name(reader, symbol));
    }
    if (symbol->st_shndx >= reader->header.e_shnum ||
        reader->offsets[symbol->st_shndx] == NOT_LOADED ||
        symbol->st_value > reader->sections[symbol->st_shndx].sh_size) {
        return refuse("a symbol lies outside of the code");
    }
    *offset = reader->offsets[symbol->st_shndx] + symbol->st_value;
    return true;
}

/* ---- relocation */

static bool patch(uint8_t *place, int bytes, uint64_t value, uint64_t room)
{
    if (room < (uint64_t) bytes) {
        return refuse("a relocation lies outside of its section");
    }
    memcpy(place, &value, (size_t) bytes);
    return true;
}

#if defined(__x86_64__)
/* 'room': bytes from the place to the end of its section. */
static bool apply(uint8_t *place, uint32_t type, uint64_t symbol, int64_t addend,
                  uint64_t room)
{
    uint64_t target = symbol + (uint64_t) addend;
    uint64_t relative = target - (uint64_t) (uintptr_t) place;
    switch (type) {
    case R_X86_64_NONE:
        return true;
    case R_X86_64_64:
        return patch(place, 8, target, room);
    case R_X86_64_PC64:
        return patch(place, 8, relative, room);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
        if ((int64_t) relative != (int32_t) relative) {
            return refuse("a relative address does not fit");
        }
        return patch(place, 4, relative, room);
    case R_X86_64_32:
        if (target > UINT32_MAX) {
            return refuse("an absolute address does not fit");
        }
        return patch(place, 4, target, room);
    case R_X86_64_32S:
        if ((int64_t) target != (int32_t) target) {
            return refuse("an absolute address does not fit");
        }
        return patch(place, 4, target, room);
    default:
        return error_set(JIT_ERROR_COMPILE,
                         "object code of a kernel has a relocation of "
                         "unknown type %u",
                         type);
    }
}
#else
/* Set a field of 'bits' bits at 'shift' in the instruction at 'place'. */
static bool patch_field(uint8_t *place, int bits, int shift, uint64_t value,
                        uint64_t room)
{
    if (room < 4) {
        return refuse("a relocation lies outside of its section");
    }
    uint32_t mask = ((UINT32_C(1) << bits) - 1) << shift, instruction;
    memcpy(&instruction, place, 4);
    instruction = (instruction & ~mask) | ((uint32_t) (value << shift) & mask);
    memcpy(place, &instruction, 4);
    return true;
}

static bool apply(uint8_t *place, uint32_t type, uint64_t symbol, int64_t addend,
                  uint64_t room)
{
    uint64_t target = symbol + (uint64_t) addend, here = (uint64_t) (uintptr_t) place;
    uint64_t relative = target - here;
    uint64_t pages = (target >> 12) - (here >> 12);
    switch (type) {
    case R_AARCH64_NONE:
        return true;
    case R_AARCH64_PREL32:
        if ((int64_t) relative != (int32_t) relative) {
            return refuse("a relative address does not fit");
        }
        return patch(place, 4, relative, room);
    case R_AARCH64_ABS64:
        return patch(place, 8, target, room);
    case R_AARCH64_PREL64:
        return patch(place, 8, relative, room);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        if (relative + (UINT64_C(1) << 27) >= UINT64_C(1) << 28) {
            return refuse("a relative address does not fit");
        }
        return patch_field(place, 26, 0, relative >> 2, room);
    case R_AARCH64_ADR_PREL_PG_HI21:
        if (pages + (UINT64_C(1) << 20) >= UINT64_C(1) << 21) {
            return refuse("a relative address does not fit");
        }
        return patch_field(place, 2, 29, pages, room) &&
               patch_field(place, 19, 5, pages >> 2, room);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return patch_field(place, 12, 10, target & 0xfff, room);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return patch_field(place, 12, 10, (target & 0xfff) >> 1, room);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return patch_field(place, 12, 10, (target & 0xfff) >> 2, room);
    case R_AARCH64_LDST64_ABS_LO12_NC:
        return patch_field(place, 12, 10, (target & 0xfff) >> 3, room);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return patch_field(place, 12, 10, (target & 0xfff) >> 4, room);
    default:
        return error_set(JIT_ERROR_COMPILE,
                         "object code of a kernel has a relocation of "
                         "unknown type %u",
                         type);
    }
}
#endif

static bool relocate_section(const Reader *reader, const Elf64_Shdr *section)
{
    if (section->sh_info >= reader->header.e_shnum ||
        section->sh_entsize != sizeof(Elf64_Rela)) {
        return refuse("a relocation table is damaged");
    }
    uint64_t base = reader->offsets[section->sh_info];
    if (base == NOT_LOADED) {
        return true;
    }
    uint64_t target_size = reader->sections[section->sh_info].sh_size;
    uint64_t count = section->sh_size / sizeof(Elf64_Rela);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Rela relocation;
        Elf64_Sym symbol;
        uint64_t offset = 0;
        memcpy(&relocation, reader->data + section->sh_offset + i * sizeof relocation,
               sizeof relocation);
        if (relocation.r_offset > target_size) {
            return refuse("a relocation lies outside of its section");
        }
        TRY(read_symbol(reader, ELF64_R_SYM(relocation.r_info), &symbol), false);
        TRY(symbol_offset(reader, &symbol, &offset), false);
        TRY(apply(reader->memory + base + relocation.r_offset,
                  (uint32_t) ELF64_R_TYPE(relocation.r_info),
                  (uint64_t) (uintptr_t) reader->memory + offset, relocation.r_addend,
                  target_size - relocation.r_offset),
            false);
    }
    return true;
}

static bool load_sections(const Reader *reader)
{
    for (unsigned i = 0; i < reader->header.e_shnum; i++) {
        if (reader->offsets[i] != NOT_LOADED) {
            memcpy(reader->memory + reader->offsets[i],
                   reader->data + reader->sections[i].sh_offset,
                   reader->sections[i].sh_size);
        }
    }
    for (unsigned i = 0; i < reader->header.e_shnum; i++) {
        if (reader->sections[i].sh_type == SHT_RELA) {
            TRY(relocate_section(reader, &reader->sections[i]), false);
        } else if (reader->sections[i].sh_type == SHT_REL) {
            return refuse("it has relocations without addends");
        }
    }
    return true;
}

/* The one global function that starts with 'prefix'; it must lie in executable code. */
static bool find_function(const Reader *reader, const char *prefix, LlvmObject *object)
{
    uint64_t count = reader->symbols.sh_size / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        uint64_t offset = 0;
        TRY(read_symbol(reader, i, &symbol), false);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
            ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
            strncmp(symbol_name(reader, &symbol), prefix, strlen(prefix)) != 0) {
            continue;
        }
        TRY(symbol_offset(reader, &symbol, &offset), false);
        const Elf64_Shdr *section = &reader->sections[symbol.st_shndx];
        if (!(section->sh_flags & SHF_EXECINSTR) ||
            symbol.st_value >= section->sh_size) {
            break;
        }
        object->function = reader->memory + offset;
        return true;
    }
    return refuse("it does not define the kernel's function");
}

/* The value of LLVM_OBJECT_NUMBER. It stands for memory, so it must not be huge. */
static bool find_number(const Reader *reader, LlvmObject *object)
{
    uint64_t count = reader->symbols.sh_size / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Sym symbol;
        uint64_t offset = 0;
        TRY(read_symbol(reader, i, &symbol), false);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT ||
            ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL ||
            strcmp(symbol_name(reader, &symbol), LLVM_OBJECT_NUMBER) != 0) {
            continue;
        }
        TRY(symbol_offset(reader, &symbol, &offset), false);
        const Elf64_Shdr *section = &reader->sections[symbol.st_shndx];
        if (!within(symbol.st_value, sizeof object->number, section->sh_size)) {
            return refuse("a constant lies outside of its section");
        }
        memcpy(&object->number, reader->memory + offset, sizeof object->number);
        return object->number <= MEMORY_LIMIT || refuse("a constant is impossible");
    }
    return true;
}

static bool map_memory(Reader *reader, LlvmObject *object)
{
    object->size = (size_t) reader->memory_size;
    object->memory = reader->memory = code_pages_get(object->size);
    return object->memory != NULL;
}

static bool protect(const LlvmObject *object)
{
    TRY(code_pages_seal(object->memory, object->size), false);
    __builtin___clear_cache((char *) object->memory,
                            (char *) object->memory + object->size);
    return true;
}

static bool find_stack(const Reader *reader, LlvmObject *object)
{
    object->stack = reader->header.e_entry;
    return object->stack <= MEMORY_LIMIT || refuse("it needs too much stack");
}

void llvm_object_note_stack(void *data, size_t size, uint64_t bytes)
{
    Elf64_Ehdr header;
    if (size < sizeof header) {
        return; /* it will be refused */
    }
    memcpy(&header, data, sizeof header);
    header.e_entry = bytes;
    memcpy(data, &header, sizeof header);
}

bool llvm_object_map(const void *data, size_t size, const char *prefix,
                     LlvmObject *object)
{
    Reader reader = { .data = data, .size = size };
    *object = (LlvmObject){ 0 };
    TRY(read_header(&reader), false);
    reader.sections = alloc_zero(reader.header.e_shnum, sizeof *reader.sections);
    reader.offsets = alloc_zero(reader.header.e_shnum, sizeof *reader.offsets);
    bool ok = reader.sections && reader.offsets && lay_out(&reader) &&
              find_symbols(&reader) && map_memory(&reader, object) &&
              load_sections(&reader) && find_function(&reader, prefix, object) &&
              find_number(&reader, object) && find_stack(&reader, object) &&
              protect(object);
    alloc_free(reader.sections);
    alloc_free(reader.offsets);
    if (!ok) {
        llvm_object_unmap(object);
    }
    return ok;
}

void llvm_object_unmap(LlvmObject *object)
{
    if (object->memory) {
        code_pages_release(object->memory, object->size);
    }
    *object = (LlvmObject){ 0 };
}
