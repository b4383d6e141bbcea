import Glibc
import Testing

@testable import EventLoop

@Suite struct OpenFilesTests {
    @Test func roomIsWhatTheLimitLeaves() throws {
        let limit = try #require(OpenFiles.limit)
        let room = try #require(OpenFiles.room)
        // Standard input, output and error at least.
        #expect(room > 0 && room <= limit - 3)
    }

    @Test func errorOfTooManyFilesNamesTheRemedy() {
        #expect(SystemError(call: "socket", code: EMFILE).description.contains("ulimit -n"))
        #expect(!SystemError(call: "socket", code: ECONNREFUSED).description.contains("ulimit -n"))
    }
}
