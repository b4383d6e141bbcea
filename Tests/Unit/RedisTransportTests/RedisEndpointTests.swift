import RedisTransport
import Testing

@Suite struct RedisEndpointTests {
    @Test(arguments: [
        ("redis://localhost", "redis://localhost:6379/0", true),
        ("redis://127.0.0.1:7000/5", "redis://127.0.0.1:7000/5", true),
        ("REDISS://redis.example:6380?db=2", "rediss://redis.example:6380/2", false),
        ("redis://[::1]:6379/1", "redis://[::1]:6379/1", true),
        ("redis://user:pa%2Fss@host/1", "redis://user@host:6379/1", false),
        ("redis://user:pa/ss@host/1", "redis://user@host:6379/1", false),
        ("redis://:secret@10.0.0.1/", "redis://10.0.0.1:6379/0", false),
        ("redis://127.evil.example", "redis://127.evil.example:6379/0", false),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0", true),
        ("unix://user:secret@/run/redis.sock?db=4", "unix://user@/run/redis.sock?db=4", true),
    ])
    func readsEveryForm(_ url: String, _ description: String, _ isLoopback: Bool) throws {
        let endpoint = try RedisEndpoint(url: url)
        #expect("\(endpoint)" == description)
        #expect(endpoint.isLoopback == isLoopback)
    }

    @Test func decodesUserAndPassword() throws {
        let endpoint = try RedisEndpoint(url: "redis://us%40er:p%3Aa%2Fs%25s@host")
        #expect(endpoint.user == "us@er")
        #expect(endpoint.password == "p:a/s%s")
        let onlyPassword = try RedisEndpoint(url: "redis://:p@ss@host")
        #expect(onlyPassword.user == nil)
        #expect(onlyPassword.password == "p@ss")
    }

    @Test func neverShowsThePassword() throws {
        let endpoint = try RedisEndpoint(url: "rediss://user:canary@host:1/2")
        var dumped = ""
        dump(["here": endpoint], to: &dumped)
        for text in ["\(endpoint)", String(reflecting: endpoint), dumped, "\([endpoint])"] {
            #expect(!text.contains("canary"))
        }
    }

    @Test(arguments: [
        "", "localhost", "localhost:6379", "http://host", "redis://", "redis://canary:canary@", "redis://host:0",
        "redis://host:65536", "redis://host:+1", "redis://host/x", "redis://host/-1", "redis://host/1?db=1",
        "redis://host/99999999999999999999", "redis://ho st", "redis://[::1", "redis://[::g]:1", "redis://[::1]x",
        "unix://relative/path", "unix://", "redis://canary%zz@host", "redis://host?canary=1", "redis://host#x",
        "unix:///a?db=x", "redis://a%00b@host", "redis://user:%FF@host",
    ])
    func refusesTheRestWithoutRepeatingIt(_ url: String) throws {
        let error = try #require(throws: RedisURLError.self) { _ = try RedisEndpoint(url: url) }
        #expect(!error.description.contains("canary"))
    }

    @Test(arguments: ["redis://:a#canary@h/0", "redis-sentinel://u:a#canary@h,i/0", "redis-cluster://u:canary#@h"])
    func rawNumberSignNamesItsEncoding(url: String) throws {
        let error = try #require(throws: RedisURLError.self) { _ = try RedisDeployment(url: url) }
        #expect(error.description.contains("percent-encode # as %23") && !error.description.contains("canary"))
    }
}
