// swift-tools-version: 6.2
import PackageDescription

/// Held by every target: the compiler, not discipline, keeps the layers apart.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

/// Targets without I/O also refuse every unsafe construct.
let pure: [SwiftSetting] = strict + [.strictMemorySafety()]

let package = Package(
    name: "fanfare",
    // What FanfareClient and FanfareReceiving are for. Every other target needs Linux.
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "fanfare", targets: ["fanfare"]),
        .library(name: "FanfareClient", targets: ["FanfareClient", "FanfareJSON", "FanfareModel", "StreamWire"]),
        .library(name: "FanfareRedis", targets: ["FanfareRedis", "RedisTransport"]),
        .library(name: "FanfareReceiving", targets: ["FanfareReceiving"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        // Without its traits, HummingbirdCore needs neither swift-configuration nor swift-system.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // C libraries. Each is imported by exactly one Swift target.
        .target(name: "CLinux", path: "Sources/CLibraries/CLinux"),
        .target(name: "CHTTP2Observer", path: "Sources/CLibraries/CHTTP2Observer"),
        .systemLibrary(name: "CCurl", path: "Sources/CLibraries/CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CHiredis", path: "Sources/CLibraries/CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .systemLibrary(name: "COpenSSL", path: "Sources/CLibraries/COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CYAML", path: "Sources/CLibraries/CYAML", providers: [.apt(["libyaml-dev"])]),
        .systemLibrary(
            name: "CNGHTTP2",
            path: "Sources/CLibraries/CNGHTTP2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(name: "CExpat", path: "Sources/CLibraries/CExpat", providers: [.apt(["libexpat1-dev"])]),

        // The pure side: values and decisions. No I/O, no clock, no randomness of its own.
        .target(name: "FanfareJSON", path: "Sources/Core/FanfareJSON", swiftSettings: pure),
        .target(name: "FanfareXML", path: "Sources/Core/FanfareXML", swiftSettings: pure),
        .target(name: "FanfareModel", path: "Sources/Core/FanfareModel", swiftSettings: pure),
        // The message of each recipient: merge patch, placeholders, splicing.
        .target(
            name: "FanfareTemplate",
            dependencies: ["FanfareModel", "FanfareJSON"],
            path: "Sources/Core/FanfareTemplate",
            swiftSettings: pure
        ),
        // For apps: what a push holds. It is built without anything else of this package.
        .target(
            name: "FanfareReceiving",
            dependencies: ["FanfareJSON"],
            path: "Sources/Clients/FanfareReceiving",
            swiftSettings: pure
        ),
        .target(
            name: "FanfareCore",
            dependencies: [
                "FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Core/FanfareCore",
            swiftSettings: pure
        ),
        .target(
            name: "FCMWire",
            dependencies: ["FanfareModel", "FanfareJSON", "FanfareTemplate", "FanfareXML"],
            path: "Sources/Core/FCMWire",
            swiftSettings: pure
        ),
        .target(
            name: "StreamWire",
            dependencies: ["FanfareModel"],
            // Embedded one by one: a folder cannot be.
            path: "Sources/Core/StreamWire",
            resources: [
                .embedInCode("Library/base.lua"),
                .embedInCode("Library/redo.lua"),
                .embedInCode("Library/check.lua"),
                .embedInCode("Library/trail.lua"),
                .embedInCode("Library/jobs.lua"),
                .embedInCode("Library/audience.lua"),
                .embedInCode("Library/message.lua"),
                .embedInCode("Library/guards.lua"),
                .embedInCode("Library/slot.lua"),
                .embedInCode("Library/quota.lua"),
                .embedInCode("Library/pace.lua"),
                .embedInCode("Library/leases.lua"),
                .embedInCode("Library/reconcile.lua"),
                .embedInCode("Library/recipients.lua"),
                .embedInCode("Library/intake.lua"),
                .embedInCode("Library/copy.lua"),
                .embedInCode("Library/batches.lua"),
                .embedInCode("Library/waiting.lua"),
                .embedInCode("Library/probe.lua"),
                .embedInCode("Library/refusals.lua"),
                .embedInCode("Library/claim.lua"),
                .embedInCode("Library/quarantine.lua"),
                .embedInCode("Library/record_parts.lua"),
                .embedInCode("Library/record.lua"),
                .embedInCode("Library/repair.lua"),
                .embedInCode("Library/coalesce.lua"),
                .embedInCode("Library/health.lua"),
                .embedInCode("Library/control.lua"),
                .embedInCode("Library/fleet.lua"),
                .embedInCode("Library/history.lua"),
                .embedInCode("Library/functions.lua"),
            ],
            swiftSettings: pure
        ),

        // The I/O side.
        .target(
            name: "EventLoop",
            dependencies: ["CLinux", .product(name: "HeapModule", package: "swift-collections")],
            path: "Sources/Transports/EventLoop",
            swiftSettings: strict
        ),
        // Requests to one origin over many connections, whatever library speaks HTTP on them.
        .target(
            name: "HTTPLanes",
            dependencies: ["FanfareModel", "EventLoop", .product(name: "DequeModule", package: "swift-collections")],
            path: "Sources/Transports/HTTPLanes",
            swiftSettings: strict
        ),
        .target(
            name: "CurlTransport",
            dependencies: ["FanfareModel", "EventLoop", "OpenSSLKit", "HTTPLanes", "CCurl", "CHTTP2Observer"],
            path: "Sources/Transports/CurlTransport",
            swiftSettings: strict
        ),
        .target(
            name: "OpenSSLKit",
            dependencies: ["COpenSSL"],
            path: "Sources/Transports/OpenSSLKit",
            swiftSettings: strict
        ),
        // Sockets with or without TLS, for every protocol that is not HTTP.
        .target(
            name: "SocketTransport",
            dependencies: [
                "FanfareModel", "EventLoop", "OpenSSLKit", .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Transports/SocketTransport",
            swiftSettings: strict
        ),
        .target(
            name: "NGHTTP2Transport",
            dependencies: [
                "FanfareModel", "EventLoop", "SocketTransport", "HTTPLanes", "CNGHTTP2",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Transports/NGHTTP2Transport",
            swiftSettings: strict
        ),
        .target(
            name: "ExpatKit",
            dependencies: ["FanfareXML", "CExpat"],
            path: "Sources/Transports/ExpatKit",
            swiftSettings: strict
        ),
        .target(name: "YAMLKit", dependencies: ["CYAML"], path: "Sources/Transports/YAMLKit", swiftSettings: strict),
        .target(
            name: "XMPPTransport",
            dependencies: [
                "FanfareModel", "FanfareXML", "FCMWire", "ExpatKit", "EventLoop", "SocketTransport",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Transports/XMPPTransport",
            swiftSettings: strict
        ),
        .target(
            name: "RedisTransport",
            dependencies: [
                "EventLoop", "FanfareModel", "StreamWire", "OpenSSLKit", "SocketTransport", "CHiredis",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Sources/Transports/RedisTransport",
            swiftSettings: strict
        ),
        .target(
            name: "FanfareMetrics",
            dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            path: "Sources/Worker/FanfareMetrics",
            swiftSettings: strict
        ),
        // What the HTTP servers of this package have in common.
        .target(
            name: "FanfareHTTP",
            dependencies: [
                "FanfareModel",
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Sources/Transports/FanfareHTTP",
            swiftSettings: strict
        ),
        .target(
            name: "FanfareAdmin",
            dependencies: [
                "FanfareConfiguration", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel",
                "SocketTransport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Worker/FanfareAdmin",
            swiftSettings: strict
        ),
        // Spans and metrics as OTLP/HTTP JSON.
        .target(
            name: "FanfareTelemetry",
            dependencies: [
                "CurlTransport", "HTTPLanes", "EventLoop", "FanfareJSON", "FanfareMetrics", "FanfareModel",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "Sources/Worker/FanfareTelemetry",
            swiftSettings: strict
        ),
        .target(
            name: "FanfareWorker",
            dependencies: [
                "FanfareModel", "FanfareJSON", "FanfareCore", "FCMWire", "StreamWire",
                "EventLoop", "HTTPLanes", "CurlTransport", "NGHTTP2Transport", "RedisTransport", "OpenSSLKit",
                "XMPPTransport",
                "FanfareMetrics", "FanfareConfiguration",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "Sources/Worker/FanfareWorker",
            swiftSettings: strict
        ),

        // The pages of the product; nothing depends on them.
        .target(name: "FanfarePages", path: "Sources/Documentation", swiftSettings: pure),

        // For producers on any platform: no I/O, and no module of one platform (DependencyTests).
        .target(
            name: "FanfareClient",
            dependencies: ["FanfareModel", "FanfareJSON", "FanfareReceiving", "StreamWire"],
            path: "Sources/Clients/FanfareClient",
            swiftSettings: pure
        ),
        // The worker's own Redis connection for FanfareClient, on Linux.
        .target(
            name: "FanfareRedis",
            dependencies: ["FanfareClient", "RedisTransport", "StreamWire"],
            path: "Sources/Clients/FanfareRedis",
            swiftSettings: strict
        ),
        .target(
            name: "FanfareConfiguration",
            dependencies: ["FanfareModel", "FanfareJSON", "FCMWire", "YAMLKit"],
            path: "Sources/Worker/FanfareConfiguration",
            swiftSettings: strict
        ),

        // The web page over the fleet.
        .target(
            name: "FanfareDashboard",
            dependencies: [
                "FanfareClient", "FanfareHTTP", "FanfareJSON", "FanfareMetrics", "FanfareModel", "StreamWire",
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Tools/FanfareDashboard",
            resources: [
                .embedInCode("Page/index.html"),
                .embedInCode("Page/app.css"),
                .embedInCode("Page/detail.css"),
                .embedInCode("Page/actions.js"),
                .embedInCode("Page/app.js"),
                .embedInCode("Page/audit.js"),
                .embedInCode("Page/charts.js"),
                .embedInCode("Page/dead.js"),
                .embedInCode("Page/dom.js"),
                .embedInCode("Page/job.js"),
                .embedInCode("Page/live.js"),
                .embedInCode("Page/overview.js"),
                .embedInCode("Page/project.js"),
                .embedInCode("Page/router.js"),
                .embedInCode("Page/token.js"),
                .embedInCode("Page/icon.svg"),
            ],
            swiftSettings: strict
        ),

        .executableTarget(
            name: "fanfare",
            dependencies: [
                "FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire", "EventLoop",
                "HTTPLanes", "CurlTransport", "NGHTTP2Transport", "XMPPTransport", "RedisTransport", "OpenSSLKit",
                "SocketTransport", "FanfareClient", "FanfareRedis",
                "FanfareConfiguration", "FanfareCore",
                "FanfareWorker",
                "FanfareSandbox", "FanfareAdmin",
                "FanfareDashboard", "FanfareMetrics", "FanfareTelemetry",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Instrumentation", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Tools/fanfare",
            swiftSettings: strict
        ),

        // The other end of the wire, for trials and tests.
        .target(
            name: "FCMSimulator",
            dependencies: [
                "FanfareModel", "FanfareJSON", "FanfareXML",
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            path: "Sources/Simulator/FCMSimulator",
            swiftSettings: pure
        ),
        .target(
            name: "FanfareSandbox",
            dependencies: [
                "FCMSimulator", "FanfareHTTP", "FanfareModel", "FanfareJSON", "FanfareXML", "ExpatKit", "OpenSSLKit",
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Sources/Simulator/FanfareSandbox",
            swiftSettings: strict
        ),
        .target(
            name: "TestSupport",
            dependencies: ["EventLoop", "StreamWire", "RedisTransport"],
            path: "Tests/Support/TestSupport",
            swiftSettings: strict
        ),
        .target(
            name: "FleetSimulation",
            dependencies: ["FanfareCore", "FanfareModel", "StreamWire"],
            path: "Tests/Simulation/FleetSimulation",
            swiftSettings: pure
        ),
        .executableTarget(
            name: "fleet-simulation",
            dependencies: ["FleetSimulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            path: "Tests/Simulation/FleetSimulationCommand",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FleetSimulationTests",
            dependencies: [
                "FleetSimulation", "FanfareCore", "FanfareModel", "StreamWire", "RedisTransport", "TestSupport",
            ],
            path: "Tests/Simulation/FleetSimulationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "OpenSSLKitTests",
            dependencies: ["OpenSSLKit", "TestSupport"],
            path: "Tests/Unit/OpenSSLKitTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "RedisTransportTests",
            dependencies: ["RedisTransport", "FanfareModel", "OpenSSLKit", "EventLoop", "StreamWire", "TestSupport"],
            path: "Tests/Unit/RedisTransportTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "SocketTransportTests",
            dependencies: ["SocketTransport", "EventLoop", "TestSupport"],
            path: "Tests/Unit/SocketTransportTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "YAMLKitTests",
            dependencies: ["YAMLKit"],
            path: "Tests/Unit/YAMLKitTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ExpatKitTests",
            dependencies: ["ExpatKit", "FanfareXML"],
            path: "Tests/Unit/ExpatKitTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "XMPPTransportTests",
            dependencies: [
                "XMPPTransport", "SocketTransport", "FanfareModel", "FanfareXML", "FCMWire", "ExpatKit", "EventLoop",
                "TestSupport",
            ],
            path: "Tests/Unit/XMPPTransportTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareJSONTests",
            dependencies: ["FanfareJSON"],
            path: "Tests/Unit/FanfareJSONTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareTemplateTests",
            dependencies: ["FanfareTemplate", "FanfareJSON", "FanfareModel"],
            path: "Tests/Unit/FanfareTemplateTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FCMWireTests",
            dependencies: ["FCMWire", "FanfareJSON", "FanfareModel", "FanfareTemplate", "FanfareXML"],
            path: "Tests/Unit/FCMWireTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareClientTests",
            dependencies: [
                "FanfareClient", "FanfareRedis", "FanfareModel", "FanfareJSON", "StreamWire", "RedisTransport",
                "FanfareCore", "FCMSimulator", "TestSupport",
            ],
            path: "Tests/Unit/FanfareClientTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "fanfare", "CurlTransport", "HTTPLanes", "NGHTTP2Transport", "FanfareClient", "FanfareRedis",
                "FanfareConfiguration",
                "FanfareJSON",
                "FanfareModel", "RedisTransport", "StreamWire", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/System/CommandTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareDashboardTests",
            dependencies: [
                "FanfareDashboard", "FanfareClient", "FanfareRedis", "FanfareJSON", "FanfareMetrics", "FanfareModel",
                "RedisTransport", "StreamWire",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Unit/FanfareDashboardTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareConfigurationTests",
            dependencies: ["TestSupport", "FanfareConfiguration", "FCMWire"],
            path: "Tests/Unit/FanfareConfigurationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "fanfare", "FanfareClient", "FanfareRedis", "FanfareModel", "StreamWire", "EventLoop", "OpenSSLKit",
                "RedisTransport",
                "TestSupport",
            ],
            path: "Tests/System/EndToEndTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: ["TestSupport", "FCMWire", "FanfareConfiguration", "FanfareModel"],
            path: "Tests/Unit/DocumentationTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "StreamWireTests",
            dependencies: ["EventLoop", "FanfareCore", "StreamWire", "FanfareModel", "RedisTransport", "TestSupport"],
            path: "Tests/Unit/StreamWireTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareMetricsTests",
            dependencies: ["TestSupport", "FanfareMetrics", .product(name: "CoreMetrics", package: "swift-metrics")],
            path: "Tests/Unit/FanfareMetricsTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareTelemetryTests",
            dependencies: [
                "CurlTransport", "EventLoop", "FanfareJSON", "FanfareMetrics", "FanfareModel", "FanfareTelemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "Tests/Unit/FanfareTelemetryTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareAdminTests",
            dependencies: [
                "FanfareAdmin", "FanfareConfiguration", "FanfareJSON", "FanfareMetrics", "FanfareModel", "TestSupport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Unit/FanfareAdminTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareWorkerTests",
            dependencies: [
                "FanfareWorker", "FanfareConfiguration", "FanfareCore", "FanfareMetrics", "FanfareModel", "FCMWire",
                "StreamWire", "EventLoop", "RedisTransport", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            path: "Tests/Unit/FanfareWorkerTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareModelTests",
            dependencies: ["FanfareModel"],
            path: "Tests/Unit/FanfareModelTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "EventLoopTests",
            dependencies: ["EventLoop"],
            path: "Tests/Unit/EventLoopTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "HTTPLanesTests",
            dependencies: ["HTTPLanes", "FanfareModel"],
            path: "Tests/Unit/HTTPLanesTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "NGHTTP2TransportTests",
            dependencies: ["NGHTTP2Transport", "HTTPLanes", "FanfareModel"],
            path: "Tests/Unit/NGHTTP2TransportTests",
            swiftSettings: strict
        ),
        // One suite for every engine.
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "TestSupport", "CurlTransport", "NGHTTP2Transport", "HTTPLanes", "EventLoop", "FanfareModel",
                "FanfareSandbox",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Unit/HTTPTransportTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FCMSimulatorTests",
            dependencies: ["FCMSimulator", "FanfareJSON", "FanfareXML", "FanfareClient"],
            path: "Tests/Unit/FCMSimulatorTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "ScenarioTests",
            dependencies: [
                "FCMSimulator", "FCMWire", "FanfareCore", "FanfareReceiving", "FanfareModel", "FanfareJSON",
                "FanfareXML", "ExpatKit", "TestSupport",
            ],
            path: "Tests/Simulation/ScenarioTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareSandboxTests",
            dependencies: [
                "FanfareSandbox", "FCMSimulator", "FanfareJSON", "FanfareXML", "ExpatKit", "OpenSSLKit", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Unit/FanfareSandboxTests",
            swiftSettings: strict
        ),
        .testTarget(
            name: "FanfareCoreTests",
            dependencies: [
                "TestSupport", "FanfareCore", "FanfareModel", "FanfareJSON", "FanfareTemplate", "FCMWire", "StreamWire",
            ],
            path: "Tests/Unit/FanfareCoreTests",
            swiftSettings: strict
        ),
    ]
)

// Only for the documentation (ops/docs): a build needs neither the plugin nor the network for it.
if Context.environment["FANFARE_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
