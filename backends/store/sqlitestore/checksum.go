// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// trailer is how many bytes of each page SQLite leaves to us (byte 20 of the file's
// header, "reserved space"): the CRC-32C of the rest and of the page's place, and a mark.
// A page whose trailer is zero has no checksum: another program wrote it.
const (
	trailer     = 8
	trailerMark = "eino"
)

// seal writes the trailer of a page that is stored at off.
func seal(page []byte, off int64) {
	rest := len(page) - trailer
	binary.LittleEndian.PutUint32(page[rest:], checksum(page[:rest], off))
	copy(page[rest+4:], trailerMark)
}

// intact reports whether a page is as it was sealed, and clears its trailer: a page that
// another program writes, which knows nothing of it, must not have one that is wrong.
func intact(page []byte, off int64) bool {
	rest := len(page) - trailer
	sealed := page[rest:]
	if !bytes.Equal(sealed, make([]byte, trailer)) &&
		(string(sealed[4:]) != trailerMark || binary.LittleEndian.Uint32(sealed) != checksum(page[:rest], off)) {
		return false
	}
	clear(sealed)
	return true
}

func checksum(content []byte, off int64) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(content, table), table, binary.LittleEndian.AppendUint64(nil, uint64(off)))
}

// sealedPage returns the size of a file's pages, from its header, if they have trailers;
// else 0.
func sealedPage(header []byte) int32 {
	if header[20] != trailer {
		return 0
	}
	size := int32(binary.BigEndian.Uint16(header[16:]))
	if size == 1 { // so the format writes 65,536
		size <<= 16
	}
	return size
}

// ambiguous is from how many pages on (137 GB) clearUnused cannot tell B-tree pages by
// their first byte: pages of long values begin with a page's number.
const ambiguous = 2 << 24

// clearUnused overwrites the gap between the cells of a B-tree page and their pointers. What
// SQLite moves to another page stays there, also with secure_delete, which clears what it
// deletes. See sqlite.org/fileformat.html, "B-tree Pages".
func clearUnused(page []byte, off int64) {
	head := page
	if off == 0 {
		head = page[100:]
	}
	pointers := 8
	switch kind := head[0]; {
	case isPointerMap(len(page), off):
		return
	case kind == 2 || kind == 5: // inner pages, with the number of their last child
		pointers = 12
	case kind != 10 && kind != 13: // of a long value or of the list of free pages
		return
	}
	begin := len(page) - len(head) + pointers + 2*int(binary.BigEndian.Uint16(head[3:]))
	end := int(binary.BigEndian.Uint16(head[5:]))
	if begin < end && end <= len(page)-trailer {
		clear(page[begin:end])
	}
}

// isPointerMap reports whether a file with auto_vacuum has a pointer map at off. See
// sqlite.org/fileformat.html, "Pointer Map or Ptrmap Pages".
func isPointerMap(page int, off int64) bool {
	const lockByte = 1 << 30 // the page with it is not used
	number, each := off/int64(page)+1, int64((page-trailer)/5+1)
	if number < 2 {
		return false
	}
	first := (number-2)/each*each + 2
	if first == lockByte/int64(page)+1 {
		first++
	}
	return number == first
}

// startNew makes SQLite begin an empty file with pages of 4 KB that have a trailer, and with
// auto_vacuum = INCREMENTAL: it takes these from the header, as it does in a file that
// exists. See sqlite.org/fileformat.html, "The Database Header".
func startNew(header []byte) {
	binary.BigEndian.PutUint16(header[16:], 4096)
	header[20] = trailer
	binary.BigEndian.PutUint32(header[52:], 1) // auto-vacuum
	binary.BigEndian.PutUint32(header[64:], 1) // incremental
}

// checkedVFS is SQLite's way to files of the operating system, with checksums of pages: a
// copy of the default one whose xOpen gives database files other xRead and xWrite. SQLite
// calls these with its own memory, which the garbage collector does not know.
type checkedVFS struct {
	name string
	tls  *libc.TLS
	vfs  uintptr // of sqlite3_vfs, followed by its name
}

// openFile is what stands behind SQLite's own struct of an open database file.
type openFile struct {
	methods sqlite3.Tsqlite3_io_methods // with ours
	base    *sqlite3.Tsqlite3_io_methods
	page    int32  // see sealedPage
	pages   uint32 // how many the file has, from its header: a checkpoint writes that first
}

// at returns the Go pointer for an address in SQLite's memory.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// as returns the C function at an address.
func as[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

// address returns the address of a function as C code has it.
func address(fn any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&fn))[1] }

type (
	openFunc = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32
	ioFunc   = func(tls *libc.TLS, file, buf uintptr, size int32, off int64) int32
)

// newCheckedVFS registers the VFS. It must be closed after the last file.
func newCheckedVFS() (*checkedVFS, error) {
	v := &checkedVFS{tls: libc.NewTLS()}
	base := sqlite3.Xsqlite3_vfs_find(v.tls, 0)
	size := unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})
	v.vfs = libc.Xcalloc(v.tls, 1, libc.Tsize_t(size+64))
	if base == 0 || v.vfs == 0 {
		v.tls.Close()
		return nil, fmt.Errorf("no VFS: memory is exhausted")
	}
	v.name = fmt.Sprintf("einomem-%x", v.vfs) // unique while it is registered
	copy(unsafe.Slice(at[byte](v.vfs+size), 64), v.name)
	own := at[sqlite3.Tsqlite3_vfs](v.vfs)
	*own = *at[sqlite3.Tsqlite3_vfs](base)
	own.FzName, own.FpNext, own.FpAppData = v.vfs+size, 0, base
	own.FszOsFile = behind(base) + int32(unsafe.Sizeof(openFile{}))
	own.FxOpen = address(openChecked)
	if rc := sqlite3.Xsqlite3_vfs_register(v.tls, v.vfs, 0); rc != sqlite3.SQLITE_OK {
		v.close()
		return nil, fmt.Errorf("VFS not registered: code %d", rc)
	}
	return v, nil
}

func (v *checkedVFS) close() {
	sqlite3.Xsqlite3_vfs_unregister(v.tls, v.vfs)
	libc.Xfree(v.tls, v.vfs)
	v.tls.Close()
}

// behind is where the openFile stands in a file of the VFS base.
func behind(base uintptr) int32 { return (at[sqlite3.Tsqlite3_vfs](base).FszOsFile + 7) &^ 7 }

func openChecked(tls *libc.TLS, vfs, name, file uintptr, flags int32, outFlags uintptr) int32 {
	base := at[sqlite3.Tsqlite3_vfs](vfs).FpAppData
	rc := as[openFunc](at[sqlite3.Tsqlite3_vfs](base).FxOpen)(tls, base, name, file, flags, outFlags)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_MAIN_DB == 0 {
		return rc
	}
	own, f := file+uintptr(behind(base)), at[sqlite3.Tsqlite3_file](file)
	o := at[openFile](own)
	o.base, o.page = at[sqlite3.Tsqlite3_io_methods](f.FpMethods), 0
	o.methods = *o.base
	o.methods.FxRead, o.methods.FxWrite = address(readChecked), address(writeChecked)
	f.FpMethods = own // where the methods are
	return rc
}

func readChecked(tls *libc.TLS, file, buf uintptr, size int32, off int64) int32 {
	o := at[openFile](at[sqlite3.Tsqlite3_file](file).FpMethods)
	if off > 0 && size < o.page {
		return readPart(tls, file, buf, size, off)
	}
	rc := as[ioFunc](o.base.FxRead)(tls, file, buf, size, off)
	data := unsafe.Slice(at[byte](buf), size)
	if off == 0 && size >= 100 {
		if rc == sqlite3.SQLITE_IOERR_SHORT_READ && bytes.Equal(data, make([]byte, size)) {
			startNew(data)
		}
		o.page, o.pages = sealedPage(data), binary.BigEndian.Uint32(data[28:])
	}
	if rc == sqlite3.SQLITE_OK && size == o.page && !intact(data, off) {
		return sqlite3.SQLITE_CORRUPT
	}
	return rc
}

// readPart reads the beginning of a page, as SQLite does past its cache with those of long
// values; the whole page is checked.
func readPart(tls *libc.TLS, file, buf uintptr, size int32, off int64) int32 {
	o := at[openFile](at[sqlite3.Tsqlite3_file](file).FpMethods)
	page, start := libc.Xmalloc(tls, libc.Tsize_t(o.page)), off-off%int64(o.page)
	if page == 0 {
		return sqlite3.SQLITE_IOERR_NOMEM
	}
	defer libc.Xfree(tls, page)
	rc := readChecked(tls, file, page, o.page, start)
	if rc == sqlite3.SQLITE_OK {
		copy(unsafe.Slice(at[byte](buf), size), unsafe.Slice(at[byte](page), o.page)[off-start:])
	}
	return rc
}

func writeChecked(tls *libc.TLS, file, buf uintptr, size int32, off int64) int32 {
	o := at[openFile](at[sqlite3.Tsqlite3_file](file).FpMethods)
	data := unsafe.Slice(at[byte](buf), size)
	if off == 0 && size >= 100 {
		o.page, o.pages = sealedPage(data), binary.BigEndian.Uint32(data[28:])
	}
	if size == o.page {
		if o.pages < ambiguous {
			clearUnused(data, off)
		}
		seal(data, off)
		defer clear(data[size-trailer:])
	}
	return as[ioFunc](o.base.FxWrite)(tls, file, buf, size, off)
}
