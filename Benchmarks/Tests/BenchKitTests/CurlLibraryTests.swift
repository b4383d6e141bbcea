import Testing

@testable import BenchKit

struct CurlLibraryTests {
    @Test func theFolderIsTakenOutOfTheCommandLine() throws {
        let named = try #require(try CurlLibrary.named(in: ["v1", "--libcurl", "D", "--rounds", "3"]))
        #expect(named.folder == "D")
        #expect(named.rest == ["v1", "--rounds", "3"])
        #expect(try CurlLibrary.named(in: ["v1", "--json", "libcurl"]) == nil)
        #expect { try CurlLibrary.named(in: ["v1", "--libcurl"]) } throws: { ($0 as? BenchError)?.exitCode == 64 }
    }

    @Test func aFolderWithoutALibraryIsAUsageError() {
        #expect { try CurlLibrary.restart(["v1", "--libcurl", "/dev"]) } throws: { "\($0)".contains("libcurl.so.4") }
    }

    @Test func theMappedFileIsFound() {
        let maps = """
            7f0000000000-7f0000001000 r--p 00000000 fe:00 12 /usr/lib/libcrypto.so.3
            7f0000001000-7f0000002000 rw-p 00000000 00:00 0
            7f0000002000-7f0000003000 r-xp 00001000 fe:00 13 /opt/a curl/libcurl-330b.so.4.8.0
            """
        #expect(CurlLibrary.file(in: maps) == "/opt/a curl/libcurl-330b.so.4.8.0")
        #expect(CurlLibrary.file(in: "7f0000000000-7f0000001000 r--p 00000000 fe:00 12 /x/libcurl/libc.so.6") == nil)
    }
}
